"""Short ways to ask a chat endpoint that says words, without tokenizer files."""

import json
from typing import Any

from wire_harness import run

from mockvllm import profiles
from mockvllm.answers.tokenizer import WordTokenizer
from mockvllm.engine import Request
from mockvllm.server.chat import ChatServing
from mockvllm.server.serving_options import ServingConfig
from mockvllm.wire.errors import APIError
from mockvllm.wire.prepared import Prepared

JSON = (b"content-type", b"application/json")
HOLA = [{"role": "user", "content": "hola"}]


def words_config(profile: str = "0.33", **config: Any) -> ServingConfig:
    """A server whose tokens are words; `config` as in `ServingConfig`."""
    usual = {"model": "/models/m", "model_names": ("m",), "system_fingerprint": "vllm-x", "wall_clock": lambda: 7.0}
    tokenizer = WordTokenizer()
    return ServingConfig(**{**usual, "wire": profiles.load(profile).wire, "tokenizer": tokenizer, **config})


def words(profile: str = "0.33", **config: Any) -> ChatServing:
    """An endpoint of such a server."""
    return ChatServing(words_config(profile, **config))


def prepare(serving: ChatServing, *headers: tuple[bytes, bytes], now: float = 0.0, **fields: Any) -> Prepared[Request]:
    body = json.dumps({"messages": HOLA, "request_id": "r", **fields})
    return serving.prepare(body.encode(), [JSON, *headers], now)


def refusal(serving: ChatServing, *headers: tuple[bytes, bytes], **fields: Any) -> APIError:
    """The error that answers a request."""
    try:
        prepare(serving, *headers, **fields)
    except APIError as error:
        return error
    raise AssertionError(f"not refused: {fields}")


def whole(serving: ChatServing, **fields: Any) -> dict[str, Any]:
    """The body of an answer that is not streamed."""
    body: dict[str, Any] = json.loads(run(prepare(serving, **fields)))
    return body


def events(payload: bytes) -> list[Any]:
    """The events of a stream, parsed; `[DONE]` as that text."""
    texts = payload.decode().split("\n\n")
    assert texts.pop() == ""
    assert all(text.startswith("data: ") for text in texts)
    return [text[6:] if text == "data: [DONE]" else json.loads(text[6:]) for text in texts]


def stream(serving: ChatServing, **fields: Any) -> list[Any]:
    return events(run(prepare(serving, stream=True, **fields)))


def text_of(chunks: list[Any], index: int = 0) -> str:
    """The text that one choice's chunks add up to."""
    choices = [chunk["choices"][0] for chunk in chunks if chunk != "[DONE]" and chunk["choices"]]
    return "".join(choice["delta"]["content"] for choice in choices if choice["index"] == index)
