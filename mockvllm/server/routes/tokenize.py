"""`/tokenize`, `/detokenize` and, if it is asked for, `/tokenizer_info` (vLLM 0.30-0.33)."""

from fastapi import APIRouter, Response

from mockvllm.server.backend import Backend
from mockvllm.server.routes.posts import post
from mockvllm.server.tokenization import Tokenization


def router(backend: Backend) -> APIRouter:
    routes = APIRouter()
    tokenization = Tokenization(backend.chat.config)
    routes.add_api_route("/tokenize", post(tokenization.tokenize), methods=["POST"], response_model=None)
    routes.add_api_route("/detokenize", post(tokenization.detokenize), methods=["POST"], response_model=None)

    if backend.settings.enable_tokenizer_info_endpoint:

        @routes.get("/tokenizer_info", response_class=Response)
        async def get_tokenizer_info() -> Response:
            return Response(tokenization.info(), media_type="application/json")

    return routes
