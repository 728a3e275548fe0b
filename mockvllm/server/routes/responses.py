"""`/v1/responses/{response_id}`: the responses that the server has kept (vLLM 0.30-0.33)."""

from fastapi import APIRouter, Response

from mockvllm.server.backend import Backend
from mockvllm.wire.errors import APIError
from mockvllm.wire.jsontext import compact


def router(backend: Backend) -> APIRouter:
    routes = APIRouter()
    store = backend.responses.store

    @routes.get("/v1/responses/{response_id}", response_model=None)
    async def retrieve_responses(
        response_id: str, starting_after: int | None = None, stream: bool | None = False
    ) -> Response:
        from mockvllm.server.event_stream import EventStream

        try:
            return EventStream(store.follow(response_id, starting_after)) if stream else _json(store.find(response_id))
        except APIError as error:
            return _error(error)

    @routes.post("/v1/responses/{response_id}/cancel", response_model=None)
    async def cancel_responses(response_id: str) -> Response:
        try:
            return _json(store.cancel(response_id))
        except APIError as error:
            return _error(error)

    return routes


def _json(content: object) -> Response:
    return Response(compact(content), media_type="application/json")


def _error(error: APIError) -> Response:
    return Response(error.body(), error.status, media_type="application/json")
