"""What `vllm bench serve` sends, field by field and in its order."""

import pytest
from mockvllm_client.bodies import BACKENDS, Asked

PLAIN = Asked(model="m", extra={})
STREAM = [("stream", True), ("stream_options", {"include_usage": True})]
CHAT = [
    ("model", "m"),
    ("messages", [{"role": "user", "content": [{"type": "text", "text": "one two"}]}]),
    ("max_completion_tokens", 5),
    *STREAM,
]
COMPLETION = [
    ("model", "m"),
    ("prompt", "one two"),
    ("repetition_penalty", 1.0),
    ("max_tokens", 5),
    ("logprobs", None),
    *STREAM,
]


@pytest.mark.parametrize(("backend", "fields"), [("openai", COMPLETION), ("vllm", COMPLETION), ("openai-chat", CHAT)])
def test_the_fields(backend: str, fields: list[tuple[str, object]]) -> None:
    assert list(PLAIN.body(BACKENDS[backend], "one two", 5).items()) == fields


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_is_asked_for_comes_last_and_wins(backend: str) -> None:
    asked = Asked(model="m", ignore_eos=True, extra={"temperature": 0.0, "stream": False})
    body = asked.body(BACKENDS[backend], "one", 5)
    assert list(body)[-2:] == ["ignore_eos", "temperature"]
    assert body["stream"] is False


def test_log_probabilities_are_of_completions() -> None:
    asked = Asked(model="m", logprobs=3, extra={})
    assert asked.body(BACKENDS["openai"], "one", 5)["logprobs"] == 3
    assert "logprobs" not in asked.body(BACKENDS["openai-chat"], "one", 5)
