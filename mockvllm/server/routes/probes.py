"""What probes and routers ask: alive, which version, how loaded."""

from typing import Any

from fastapi import APIRouter, Response

from mockvllm.server.backend import Backend
from mockvllm.server.kv_events import sources


def router(backend: Backend) -> APIRouter:
    routes = APIRouter()

    @routes.get("/load")
    async def load() -> dict[str, int]:
        """In-flight requests, counted with `--enable-server-load-tracking` only (vLLM)."""
        tracked = backend.settings.enable_server_load_tracking
        return {"server_load": backend.num_open_requests if tracked else 0}

    @routes.get("/version")
    async def version() -> dict[str, str]:
        return {"version": backend.profile.version}

    if backend.profile.routes.kv_event_sources:

        @routes.get("/kv_event_sources")
        async def kv_event_sources() -> dict[str, Any]:
            """Publisher configuration by data-parallel rank; empty while KV events are off (vLLM 0.32 and later)."""
            return sources(backend.kv_events)

    @routes.get("/health", response_class=Response)
    async def health() -> Response:
        """200 with an empty body."""
        return Response(status_code=200)

    return routes


def ping() -> APIRouter:
    """SageMaker's name for /health. GET is the first of both, and what a refused method is told of (vLLM)."""
    routes = APIRouter()

    @routes.post("/ping", response_class=Response)
    @routes.get("/ping", response_class=Response)
    async def answer() -> Response:
        """200 with an empty body."""
        return Response(status_code=200)

    return routes
