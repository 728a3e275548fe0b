"""`/v1/messages/count_tokens` (vLLM 0.30-0.33)."""

from fastapi import APIRouter

from mockvllm.server.backend import Backend
from mockvllm.server.routes.posts import post


def router(backend: Backend) -> APIRouter:
    routes = APIRouter()
    count_tokens = post(backend.messages.count_tokens)
    routes.add_api_route("/v1/messages/count_tokens", count_tokens, methods=["POST"], response_model=None)
    return routes
