"""`/metrics`: Prometheus text, never behind a key."""

from fastapi import APIRouter, Response
from prometheus_client import make_asgi_app

from mockvllm.server.asgi import Receive, Scope, Send
from mockvllm.server.backend import Backend
from mockvllm.server.metrics.exposition import Exposition


def router(backend: Backend) -> APIRouter:
    routes = APIRouter()

    @routes.get("/metrics", response_class=Response)
    async def metrics() -> Response:
        content_type, text = backend.metrics.exposition()
        return Response(text, headers={"content-type": content_type})

    routes.add_route("/metrics{suffix:path}", Mounted(backend.metrics.exposition), include_in_schema=False)  # type: ignore[arg-type]
    return routes


class Mounted:
    """The client library's own application, as vLLM mounts it: whatever the method, and whatever follows `/metrics`."""

    def __init__(self, exposition: Exposition) -> None:
        self._app = make_asgi_app(exposition.registry)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)
