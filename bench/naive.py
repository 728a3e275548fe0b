"""The yardstick: what one writes first. FastAPI + EventSourceResponse, json.dumps and a sleep for each token.

ITL=40 uvicorn naive:app --port 8000 --no-access-log      (ITL: milliseconds between tokens, default 0)
"""

import asyncio
import json
import os

from fastapi import FastAPI
from pydantic import BaseModel
from sse_starlette.sse import EventSourceResponse

app = FastAPI()
ITL = float(os.environ.get("ITL", "0")) / 1000


class Request(BaseModel):
    model: str
    messages: list
    max_tokens: int = 16
    stream: bool = False


@app.get("/health")
async def health():
    return {}


@app.post("/v1/chat/completions")
async def chat(request: Request):
    if not request.stream:
        if ITL:
            await asyncio.sleep(ITL * request.max_tokens)
        usage = {"prompt_tokens": 4, "completion_tokens": request.max_tokens, "total_tokens": 4 + request.max_tokens}
        choice = {
            "index": 0,
            "message": {"role": "assistant", "content": "hello " * request.max_tokens},
            "finish_reason": "length",
        }
        return {
            "id": "chatcmpl-0123456789abcdef",
            "object": "chat.completion",
            "created": 1,
            "model": request.model,
            "choices": [choice],
            "usage": usage,
        }

    async def events():
        for _ in range(request.max_tokens):
            await asyncio.sleep(ITL)
            choice = {
                "index": 0,
                "delta": {"content": " hello"},
                "logprobs": None,
                "finish_reason": None,
                "token_ids": None,
            }
            yield json.dumps(
                {
                    "id": "chatcmpl-0123456789abcdef",
                    "object": "chat.completion.chunk",
                    "created": 1,
                    "model": request.model,
                    "choices": [choice],
                    "kv_transfer_params": None,
                }
            )
        yield "[DONE]"

    return EventSourceResponse(events())
