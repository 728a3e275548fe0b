"""/invocations: the endpoint whose schema a body fits."""

import json
from typing import Any

import pytest
from chat_client import HOLA, JSON, words_config
from wire_harness import run

from mockvllm.server.chat import ChatServing
from mockvllm.server.completions import CompletionServing
from mockvllm.server.invocations import Invocations
from mockvllm.wire.errors import APIError

CONFIG = words_config()
SERVING = Invocations({"ChatCompletionRequest": ChatServing(CONFIG), "CompletionRequest": CompletionServing(CONFIG)})


def invoke(raw: bytes | None = None, **fields: Any) -> Any:
    return SERVING.prepare(json.dumps(fields).encode() if raw is None else raw, [JSON], 0.0)


def refusal(raw: bytes | None = None, **fields: Any) -> APIError:
    with pytest.raises(APIError) as error:
        invoke(raw, **fields)
    return error.value


def test_messages_are_a_chat_and_a_prompt_is_a_completion() -> None:
    assert json.loads(run(invoke(messages=HOLA, max_tokens=1)))["object"] == "chat.completion"
    assert json.loads(run(invoke(prompt="a", max_tokens=1)))["object"] == "text_completion"
    assert json.loads(run(invoke(prompt="a", messages=HOLA, max_tokens=1)))["object"] == "chat.completion"
    assert json.loads(run(invoke(prompt="a", messages=5, max_tokens=1)))["object"] == "text_completion"
    assert run(invoke(messages=HOLA, stream=True, max_tokens=1)).endswith(b"data: [DONE]\n\n")


def test_a_meaning_that_is_refused_is_refused_at_once() -> None:
    assert refusal(foo=1).param == "prompt"
    assert refusal(prompt="a", stream_options={"include_usage": True}).param == "stream_options"
    assert refusal(messages=HOLA, model="x").status == 404


def test_what_fits_nothing_is_told_what_there_is() -> None:
    error = refusal(prompt=5)
    names = "['ChatCompletionRequest', 'CompletionRequest']"
    assert error.message == f"Cannot find suitable handler for request. Expected one of: {names}"
    assert (error.type, error.param) == ("BadRequestError", None)
    assert refusal(b"[]").message == refusal(b"null").message == error.message


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"{bad", "JSON decode error: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"),
        (b"", "JSON decode error: Expecting value: line 1 column 1 (char 0)"),
    ],
)
def test_what_is_no_json(raw: bytes, message: str) -> None:
    error = refusal(raw)
    assert (error.message, error.type) == (message, "Bad Request")


def test_bodies_that_python_cannot_even_read() -> None:
    assert "utf-8" in refusal(b'"\xff"').message
    assert refusal(b"[" * 100_000).status == 400
    with pytest.raises(APIError, match="Unsupported Media Type"):
        SERVING.prepare(b"{}", [], 0.0)
