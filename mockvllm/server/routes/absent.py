"""Endpoints of vLLM that are switched off, or not modelled: they say so, rather than answer something plausible."""

from collections.abc import Awaitable, Callable, Iterable

from fastapi import APIRouter, Response

from mockvllm.profiles.routes import RouteRules
from mockvllm.settings import Settings
from mockvllm.wire.errors import APIError

SCALE_OUT_OFF = "Scale-out endpoints are disabled. Restart vllm serve with --enable-scale-out to enable them."


def decisions(rules: RouteRules) -> APIRouter:
    return _refusing(rules.decisions, _not_modelled("structured decisions"))


def scale_out(settings: Settings, rules: RouteRules) -> APIRouter:
    """Render, derender and /inference: vLLM refuses them unless they are asked for."""
    if settings.enable_scale_out or settings.tokens_only:
        return _refusing(rules.scale_out, _not_modelled("the scale-out endpoints"))
    return _refusing(rules.scale_out, APIError(403, SCALE_OUT_OFF, "PermissionDeniedError"))


def _not_modelled(what: str) -> APIError:
    return APIError(501, f"mockvllm does not model {what}", "NotImplementedError")


def _refusing(paths: Iterable[str], error: APIError) -> APIRouter:
    routes = APIRouter()
    for path in paths:
        routes.add_api_route(path, _refusal(error), methods=["POST"], response_model=None)
    return routes


def _refusal(error: APIError) -> Callable[[], Awaitable[Response]]:
    async def refuse() -> Response:
        return Response(error.body(), error.status, media_type="application/json")

    return refuse
