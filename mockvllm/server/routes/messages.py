"""`/v1/messages/count_tokens` (vLLM 0.30-0.33)."""

from fastapi import APIRouter, Request, Response

from mockvllm.server.backend import Backend
from mockvllm.wire.errors import APIError


def router(backend: Backend) -> APIRouter:
    routes = APIRouter()

    @routes.post("/v1/messages/count_tokens", response_model=None)
    async def count_tokens(request: Request) -> Response:
        try:
            counted = backend.messages.count_tokens(await request.body(), request.headers.raw)
        except APIError as error:
            return Response(error.body(), error.status, media_type="application/json")
        return Response(counted, media_type="application/json")

    return routes
