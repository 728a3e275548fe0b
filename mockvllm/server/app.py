"""The ASGI application: FastAPI for what streams no tokens, the hot route before it, the layers around both."""

from typing import Any

from fastapi import FastAPI

from mockvllm.server.asgi import App
from mockvllm.server.backend import Backend
from mockvllm.server.generation import Generation
from mockvllm.server.hot import HotRoute
from mockvllm.server.layers import compose
from mockvllm.server.layers.access_log import AccessLog
from mockvllm.server.routes import control, metrics, models, probes


def build_app(backend: Backend) -> App:
    """Everything a request passes through, outermost first: layers, hot route, FastAPI."""
    settings, environment = backend.settings, backend.environment
    endpoints = {"/v1/chat/completions": Generation(backend, backend.chat.prepare)}
    app: App = HotRoute(fastapi_app(backend, endpoints), endpoints, settings.root_path or "")
    keys = list(settings.api_key or ([environment.VLLM_API_KEY] if environment.VLLM_API_KEY else []))
    access_log = None
    if not settings.disable_uvicorn_access_log:
        quiet = frozenset(filter(None, (settings.disable_access_log_for_endpoints or "").split(",")))
        access_log = AccessLog(quiet)
    return compose(app, settings, keys, access_log)


def fastapi_app(backend: Backend, endpoints: dict[str, Generation]) -> FastAPI:
    """The routes, in the order in which vLLM registers them, and their OpenAPI document."""
    settings = backend.settings
    docs: dict[str, Any] = {"openapi_url": None} if settings.disable_fastapi_docs else {}
    app = FastAPI(root_path=settings.root_path or "", **docs)
    app.include_router(probes.router(backend))
    if not settings.disable_log_stats:
        app.include_router(metrics.router(backend))
    app.include_router(models.router(backend))
    for path, endpoint in endpoints.items():
        app.add_api_route(path, endpoint.endpoint, methods=["POST"], response_model=None)
    if settings.control:
        app.include_router(control.router(backend))
    return app
