"""Endpoints of vLLM that are switched off, or not modelled: they say so, rather than answer something plausible."""

from collections.abc import Awaitable, Callable, Iterable

from fastapi import APIRouter, Response

from mockvllm.profiles.routes import RouteRules
from mockvllm.settings import Settings
from mockvllm.wire.errors import APIError

SCALE_OUT_OFF = "Scale-out endpoints are disabled. Restart vllm serve with --enable-scale-out to enable them."


def router(settings: Settings, rules: RouteRules) -> APIRouter:
    """Render, derender and /inference are refused unless they are asked for; then, and what decides, answer 501."""
    routes = APIRouter()
    _refuse(routes, rules.decisions, _not_modelled("structured decisions"))
    enabled = settings.enable_scale_out or settings.tokens_only
    off = APIError(403, SCALE_OUT_OFF, "PermissionDeniedError")
    _refuse(routes, rules.scale_out, _not_modelled("the scale-out endpoints") if enabled else off)
    return routes


def _not_modelled(what: str) -> APIError:
    return APIError(501, f"mockvllm does not model {what}", "NotImplementedError")


def _refuse(routes: APIRouter, paths: Iterable[str], error: APIError) -> None:
    for path in paths:
        routes.add_api_route(path, _refusal(error), methods=["POST"], response_model=None)


def _refusal(error: APIError) -> Callable[[], Awaitable[Response]]:
    async def refuse() -> Response:
        return Response(error.body(), error.status, media_type="application/json")

    return refuse
