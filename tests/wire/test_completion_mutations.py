"""Recorded requests of completions and tokens, changed at random: whatever comes, it is answered."""

import json
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from wire_harness import chat_serving, exchange, recorded_flags
from wire_recordings import Case, recordings

from mockvllm.server.batch import BatchServing
from mockvllm.server.chat import ChatServing
from mockvllm.server.completions import CompletionServing
from mockvllm.server.invocations import Invocations
from mockvllm.server.scoring import ScoringServing
from mockvllm.server.tokenization import Tokenization
from mockvllm.wire.errors import APIError

GENERATING = ("/v1/completions", "/v1/chat/completions/batch", "/generative_scoring")
COUNTING = ("/tokenize", "/detokenize")
CASES = [case for case in recordings("0.33.0") if len(case["request"]["body_text"] or "") < 2000]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


def bodies(path: str) -> list[dict[str, Any]]:
    texts = [case["request"]["body_text"] for case in CASES if case["request"]["path"] == path]
    return [json.loads(text) for text in texts if text and text.endswith("}")]


def mutated(path: str) -> st.SearchStrategy[dict[str, Any]]:
    own = bodies(path)
    fields = sorted({name for body in own for name in body} | {"stream", "echo", "n", "prompt_logprobs", "items"})
    borrowed = st.sampled_from([item for body in own for item in body.items()])
    return st.builds(
        lambda body, some, broken: {**body, **dict(some), **broken},
        st.sampled_from(own),
        st.lists(borrowed, max_size=3),
        st.dictionaries(st.sampled_from(fields), JSON, max_size=2),
    )


@cache
def serving(path: str, flags: tuple[str, ...]) -> Any:
    config = chat_serving(*flags).config
    completions = CompletionServing(config)
    return {
        "/v1/completions": completions,
        "/v1/chat/completions/batch": BatchServing(config),
        "/generative_scoring": ScoringServing(config),
    }[path]


def first_flags(model: Path) -> tuple[str, ...]:
    case: Case = next(case for case in CASES if case["group"] == "completions")
    return recorded_flags(case, model)


@pytest.mark.parametrize("path", GENERATING)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.data())
def test_every_request_is_answered(model: Path, path: str, data: st.DataObject) -> None:
    changed = data.draw(mutated(path))
    if path == "/v1/chat/completions/batch" and changed.get("max_tokens") is None:
        changed["max_tokens"] = 20
    if isinstance(changed.get("n"), int) and changed["n"] > 50:
        changed["n"] = 2
    request = {"headers": [["Content-Type", "application/json"]], "body_text": json.dumps(changed)}
    status, answer = exchange(serving(path, first_flags(model)), request)
    assert status in (200, 400, 404)
    if answer.startswith("data: "):
        assert answer.endswith("data: [DONE]\n\n")
    else:
        assert ("error" in json.loads(answer)) is (status != 200)


@pytest.mark.parametrize("path", COUNTING)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.data())
def test_every_count_is_answered(model: Path, path: str, data: st.DataObject) -> None:
    counting = Tokenization(chat_serving(*first_flags(model)).config)
    ask: Callable[[bytes, Iterable[tuple[bytes, bytes]]], bytes] = getattr(counting, path[1:])
    body = json.dumps(data.draw(mutated(path))).encode()
    try:
        answer = json.loads(ask(body, [(b"content-type", b"application/json")]))
    except APIError as error:
        assert error.status in (400, 404)
    else:
        assert set(answer) in ({"prompt"}, {"count", "max_model_len", "tokens", "token_strs"})


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(body=mutated("/v1/completions"))
def test_an_invocation_is_what_its_endpoint_would_say(model: Path, body: dict[str, Any]) -> None:
    config = chat_serving(*first_flags(model)).config
    completions = CompletionServing(config)
    invocations = Invocations({"ChatCompletionRequest": ChatServing(config), "CompletionRequest": completions})
    headers = [(b"content-type", b"application/json")]
    raw = json.dumps({**body, "messages": None, "max_tokens": 1, "n": 1}).encode()
    assert outcome(completions, raw, headers) == outcome(invocations, raw, headers)


def outcome(endpoint: CompletionServing | Invocations, raw: bytes, headers: list[tuple[bytes, bytes]]) -> object:
    try:
        prepared = endpoint.prepare(raw, headers, 0.0)
    except APIError as error:
        return error.status
    return [request.prompt_token_ids for request in prepared.choices], prepared.stream, prepared.failure is None
