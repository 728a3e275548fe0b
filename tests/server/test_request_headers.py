"""Which of a request's headers count, and what an empty one is worth."""

import asyncio
import json
from typing import Any

import httpx
import pytest
from server.harness import CHAT, InProcess, chat, in_process

JSON = ("Content-Type", "application/json")
TEXT = ("Content-Type", "text/plain")
PATHS: dict[str, dict[str, Any]] = {
    CHAT: chat(max_tokens=1),
    "/v1/responses": {"input": "hola", "max_output_tokens": 1},
    "/v1/messages": {"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": "hola"}]},
    "/v1/messages/count_tokens": {"model": "m", "messages": [{"role": "user", "content": "hola"}]},
    "/invocations": chat(max_tokens=1),
    "/tokenize": {"prompt": "hola"},
    "/detokenize": {"tokens": [1]},
}


async def ask(server: InProcess, path: str, body: dict[str, Any], headers: list[tuple[str, str]]) -> httpx.Response:
    asked = asyncio.ensure_future(server.client.post(path, content=json.dumps(body), headers=headers))
    await server.advance(10.0)
    return await asked


@pytest.mark.parametrize("path", PATHS)
async def test_of_headers_of_one_name_the_first_counts(path: str) -> None:
    async with in_process("--served-model-name", "m") as server:
        first = await ask(server, path, PATHS[path], headers=[JSON, TEXT])
        last = await ask(server, path, PATHS[path], headers=[TEXT, JSON])
    assert first.status_code == 200
    assert last.status_code == 400


@pytest.mark.parametrize(
    ("headers", "field", "given"),
    [
        ({"X-Request-Id": "header"}, "field", "header"),
        ({"X-Request-Id": ""}, "field", ""),
        ({}, "field", "field"),
        ({}, "", ""),
    ],
)
async def test_an_id_that_is_empty_is_an_id(headers: dict[str, str], field: str, given: str) -> None:
    async with in_process("--enable-request-id-headers") as server:
        answer = await ask(server, CHAT, chat(max_tokens=1, request_id=field), headers=[JSON, *headers.items()])
    assert answer.json()["id"] == f"chatcmpl-{given}"
    if headers:
        assert answer.headers["x-request-id"] == given
    else:
        assert len(answer.headers["x-request-id"]) == 32


async def test_ping_refuses_in_the_name_of_get() -> None:
    async with in_process() as server:
        refused = [await server.client.request(method, "/ping") for method in ("HEAD", "DELETE")]
        assert [(answer.status_code, answer.headers["allow"]) for answer in refused] == [(405, "GET")] * 2
        assert (await server.client.post("/ping")).status_code == 200
