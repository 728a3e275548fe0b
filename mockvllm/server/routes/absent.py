"""Endpoints of vLLM that are not modelled: they say so, rather than answer something plausible."""

from collections.abc import Awaitable, Callable

from fastapi import APIRouter, Response

from mockvllm.wire.errors import APIError

PATHS: dict[str, str] = {}


def router() -> APIRouter:
    routes = APIRouter()
    for path, name in PATHS.items():
        routes.add_api_route(path, refusal(name), methods=["POST"], response_model=None)
    return routes


def refusal(name: str) -> Callable[[], Awaitable[Response]]:
    """501, as vLLM answers what its model does not support."""
    error = APIError(501, f"mockvllm does not model the {name}", "NotImplementedError")

    async def refuse() -> Response:
        return Response(error.body(), error.status, media_type="application/json")

    return refuse
