"""`/v1/models` (vLLM 0.30-0.33; there is no `/v1/models/{id}`)."""

import time
from secrets import token_hex
from typing import Any

from fastapi import APIRouter

from mockvllm.server.backend import Backend

PERMISSION = {
    "object": "model_permission",
    "created": 0,
    "allow_create_engine": False,
    "allow_sampling": True,
    "allow_logprobs": True,
    "allow_search_indices": False,
    "allow_view": True,
    "allow_fine_tuning": False,
    "organization": "*",
    "group": None,
    "is_blocking": False,
}


def card(name: str, root: str, max_model_len: int) -> dict[str, Any]:
    """One served name. Times and the permission's id are made anew for each call."""
    now = int(time.time())
    return {
        "id": name,
        "object": "model",
        "created": now,
        "owned_by": "vllm",
        "root": root,
        "parent": None,
        "max_model_len": max_model_len,
        "permission": [{"id": f"modelperm-{token_hex(8)}"} | PERMISSION | {"created": now}],
    }


def router(backend: Backend) -> APIRouter:
    routes = APIRouter()
    settings = backend.settings

    @routes.get("/v1/models")
    async def show_available_models() -> dict[str, Any]:
        max_model_len = backend.derived.max_model_len
        cards = [card(name, settings.model, max_model_len) for name in settings.model_names]
        return {"object": "list", "data": cards}

    return routes
