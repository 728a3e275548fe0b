"""Elastic expert parallelism: checked as vLLM checks it, and refused as it is where nothing can scale (0.30-0.33)."""

from collections.abc import Iterable
from typing import Any

from fastapi import APIRouter

from mockvllm.profiles.routes import RouteRules
from mockvllm.server.asgi import lookup
from mockvllm.server.routes.posts import post
from mockvllm.wire.body import parse_anything
from mockvllm.wire.errors import APIError

DRAIN_TIMEOUT = 120  # seconds


def router(rules: RouteRules) -> APIRouter:
    routes = APIRouter()
    routes.add_api_route("/scale_elastic_ep", post(scale), methods=["POST"], response_model=None)

    @routes.post("/is_scaling_elastic_ep")
    async def is_scaling_elastic_ep() -> dict[str, Any]:
        idle = {"is_scaling_elastic_ep": False, "phase": "idle"}
        return {key: idle.get(key) for key in rules.scaling_keys}

    return routes


def scale(body: bytes, headers: Iterable[tuple[bytes, bytes]]) -> bytes:
    """Always an APIError."""
    asked = parse_anything(body, lookup(headers).get(b"content-type"), "Invalid JSON format")
    if not isinstance(asked, dict):
        raise _bad("Request body must be a JSON object")
    if asked.get("new_data_parallel_size") is None:
        raise _bad("new_data_parallel_size is required")
    _check_positive("new_data_parallel_size", asked["new_data_parallel_size"])
    _check_positive("drain_timeout", asked.get("drain_timeout", DRAIN_TIMEOUT))
    raise APIError(500, "Scale failed", "Internal Server Error")


def _check_positive(field: str, value: Any) -> None:
    if not isinstance(value, int) or value <= 0:
        raise _bad(f"{field} must be a positive integer")


def _bad(message: str) -> APIError:
    return APIError(400, message, "Bad Request")
