"""The OpenAPI document: whole, valid, and in step with what the routes take."""

import httpx
import pytest
from harness import in_process
from jsonschema import Draft202012Validator

from mockvllm.server.openapi import REQUESTS


async def document(*flags: str) -> dict[str, object]:
    async with in_process(*flags) as server:
        answer: httpx.Response = await server.client.get("/openapi.json")
        found: dict[str, object] = answer.json()
    return found


async def validator(path: str, *flags: str) -> Draft202012Validator:
    whole = await document(*flags)
    schema = whole["paths"][path]["post"]["requestBody"]["content"]["application/json"]["schema"]  # type: ignore[index]
    return Draft202012Validator({**schema, "components": whole["components"]})


@pytest.mark.parametrize(
    ("path", "right", "wrong"),
    [
        ("/v1/chat/completions", {"messages": [{"role": "user", "content": "hola"}]}, {"messages": 3}),
        ("/v1/completions", {"prompt": [[1, 2]], "max_tokens": 3}, {"prompt": [1, "a"]}),
        ("/v1/responses", {"input": "hola"}, {"input": 3}),
        ("/v1/messages", {"model": "m", "max_tokens": 3, "messages": []}, {"max_tokens": "many"}),
        ("/tokenize", {"prompt": "hola"}, {}),
        ("/detokenize", {"tokens": [1]}, {"tokens": [-1]}),
    ],
)
async def test_requests_are_described(path: str, right: dict[str, object], wrong: dict[str, object]) -> None:
    schema = await validator(path)
    assert schema.is_valid(right)
    assert not schema.is_valid(wrong)


async def test_a_pooling_model_s_requests() -> None:
    schema = await validator("/v1/embeddings", "--runner", "pooling")
    assert schema.is_valid({"input": "hola", "dimensions": 3})
    assert schema.is_valid({"messages": [{"role": "user", "content": "hola"}]})
    assert not schema.is_valid({"input": "hola", "encoding_format": "hex"})


async def test_every_request_stands_at_a_path() -> None:
    generate, pool = await document(), await document("--runner", "pooling")
    assert REQUESTS.keys() == {
        path
        for whole in (generate, pool)
        for path, operations in whole["paths"].items()  # type: ignore[attr-defined]
        if "requestBody" in operations.get("post", {})
    }
