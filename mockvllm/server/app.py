"""The ASGI application: FastAPI for what streams no tokens, the hot route before it, the layers around both."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.routing import Route

from mockvllm.server.asgi import App
from mockvllm.server.backend import Backend
from mockvllm.server.embeddings import EmbeddingServing, dimensions_of, embeds
from mockvllm.server.endpoints import generation_endpoints
from mockvllm.server.generation import Generation
from mockvllm.server.hot import HotRoute
from mockvllm.server.layers import compose
from mockvllm.server.layers.access_log import AccessLog
from mockvllm.server.openapi import DocumentedAPI
from mockvllm.server.routes import absent, control, elastic_ep, messages, metrics, models, probes, responses, tokenize
from mockvllm.server.validation_errors import answer_validation_error
from mockvllm.settings import Settings


@dataclass(frozen=True, slots=True)
class Application:
    """`asgi` is what a server runs; `routes` are paths with their methods, in the order of their registration.
    `taskless_paths`: see `Protocol`."""

    asgi: App
    routes: Sequence[tuple[str, Sequence[str]]]
    taskless_paths: frozenset[str]


def build_app(backend: Backend) -> Application:
    """Everything a request passes through, outermost first: layers, hot route, FastAPI."""
    settings, environment = backend.settings, backend.environment
    endpoints = endpoints_of(backend)
    routers = routers_of(backend, endpoints)
    fastapi = fastapi_app(settings, routers)
    hot = HotRoute(fastapi, endpoints, settings.root_path or "")
    keys = [key for key in settings.api_key or (environment.VLLM_API_KEY,) if key]
    access_log = None
    if not settings.disable_uvicorn_access_log:
        quiet = frozenset(filter(None, (settings.disable_access_log_for_endpoints or "").split(",")))
        access_log = AccessLog(quiet)
    known = [route for routes in (fastapi.routes, *(router.routes for router in routers)) for route in routes]
    routes = [(route.path, sorted(route.methods)) for route in known if isinstance(route, Route) and route.methods]
    return Application(compose(hot, settings, keys, access_log), routes, hot.taskless_paths)


def endpoints_of(backend: Backend) -> dict[str, Generation]:
    """What the engine is for, by path: a pooling model says nothing."""
    if not embeds(backend.settings):
        return generation_endpoints(backend)
    serving = EmbeddingServing(backend.chat.config, dimensions_of(backend.settings))
    return {"/v1/embeddings": Generation(backend, serving.prepare)}


def routers_of(backend: Backend, endpoints: Mapping[str, Generation]) -> list[APIRouter]:
    """The routes, in the order in which vLLM registers them."""
    further = {"/v1/responses": responses.router, "/v1/messages": messages.router}
    settings, rules = backend.settings, backend.profile.routes
    routers = [probes.router(backend), tokenize.router(backend), models.router(backend)]
    routers += [absent.decisions(rules), probes.ping()]
    for path, endpoint in endpoints.items():
        routers.append(APIRouter())
        routers[-1].add_api_route(path, endpoint.endpoint, methods=["POST"], response_model=None)
        if path in further:
            routers.append(further[path](backend))
    routers += [elastic_ep.router(rules), absent.scale_out(settings, rules)]
    if not settings.disable_log_stats:
        routers.insert(1, metrics.router(backend))
    if settings.control:
        routers.append(control.router(backend))
    return routers


def fastapi_app(settings: Settings, routers: Sequence[APIRouter]) -> FastAPI:
    """FastAPI has every route, the hot ones included: its OpenAPI document is whole."""
    docs: dict[str, Any] = {"openapi_url": None} if settings.disable_fastapi_docs else {}
    app = DocumentedAPI(**docs, exception_handlers={RequestValidationError: answer_validation_error})
    app.root_path = settings.root_path or ""
    for router in routers:
        app.include_router(router)
    return app
