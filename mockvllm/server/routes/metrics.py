"""`/metrics`: Prometheus text, never behind a key."""

from fastapi import APIRouter, Response

from mockvllm.server.backend import Backend


def router(backend: Backend) -> APIRouter:
    routes = APIRouter()

    @routes.get("/metrics", response_class=Response)
    async def metrics() -> Response:
        content_type, text = backend.metrics.exposition()
        return Response(text, headers={"content-type": content_type})

    return routes
