"""Short ways to ask for a completion of a server that says words, without tokenizer files."""

import json
from typing import Any

from chat_client import JSON, events, words_config
from wire_harness import run

from mockvllm.engine import Request
from mockvllm.server.completions import CompletionServing
from mockvllm.wire.errors import APIError
from mockvllm.wire.prepared import Prepared


def completions(profile: str = "0.33", **config: Any) -> CompletionServing:
    return CompletionServing(words_config(profile, **config))


def prepare(serving: CompletionServing, *headers: tuple[bytes, bytes], **fields: Any) -> Prepared[Request]:
    body = json.dumps({"prompt": "uno dos", "request_id": "r", **fields})
    return serving.prepare(body.encode(), [JSON, *headers], 0.0)


def refusal(serving: CompletionServing, **fields: Any) -> APIError:
    """The error that answers a request."""
    try:
        prepare(serving, **fields)
    except APIError as error:
        return error
    raise AssertionError(f"not refused: {fields}")


def whole(serving: CompletionServing, **fields: Any) -> dict[str, Any]:
    """The body of an answer that is not streamed."""
    body: dict[str, Any] = json.loads(run(prepare(serving, **fields)))
    return body


def stream(serving: CompletionServing, **fields: Any) -> list[Any]:
    return events(run(prepare(serving, stream=True, **fields)))


def choices_of(chunks: list[Any], index: int = 0) -> list[dict[str, Any]]:
    """One choice, event by event."""
    choices = [chunk["choices"][0] for chunk in chunks if chunk != "[DONE]" and chunk["choices"]]
    return [choice for choice in choices if choice["index"] == index]
