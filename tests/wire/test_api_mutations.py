"""Recorded requests of /v1/responses and /v1/messages, changed at random: whatever comes, it is answered."""

import json
from pathlib import Path
from typing import Any

import pytest
from api_client import events, recorded_api
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from wire_harness import exchange, recorded_flags
from wire_recordings import Case, recordings

PATHS = ("/v1/responses", "/v1/messages")
CASES = [
    case
    for case in recordings("0.33.0")
    if case["request"]["path"] in PATHS and len(case["request"]["body_text"]) < 2000
]
PARSERS = ("--enable-auto-tool-choice", "--tool-call-parser", "hermes", "--reasoning-parser", "qwen3")
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
ITEM_KEYS = ("type", "role", "content", "id", "status", "text", "call_id", "output", "name", "arguments", "input")
WORDS = ("message", "user", "assistant", "text", "input_text", "tool_use", "tool_result", "function_call", "reasoning")
ITEMS = st.lists(st.dictionaries(st.sampled_from(ITEM_KEYS), st.sampled_from(WORDS) | JSON, max_size=4), max_size=3)


def bodies(path: str) -> list[dict[str, Any]]:
    return [json.loads(case["request"]["body_text"]) for case in CASES if case["request"]["path"] == path]


def flags(path: str, model: Path) -> tuple[str, ...]:
    case: Case = next(case for case in CASES if case["request"]["path"] == path)
    return (*recorded_flags(case, model), *PARSERS)


@pytest.mark.parametrize("path", PATHS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.data())
def test_every_request_is_answered(model: Path, path: str, data: st.DataObject) -> None:
    own = bodies(path)
    fields = sorted({name for body in own for name in body})
    limit = {"/v1/responses": "max_output_tokens", "/v1/messages": "max_tokens"}[path]
    changed = {
        **data.draw(st.sampled_from(own)),
        **dict(data.draw(st.lists(st.sampled_from([item for body in own for item in body.items()]), max_size=3))),
        **data.draw(st.dictionaries(st.sampled_from(fields), JSON, max_size=2)),
        **data.draw(st.dictionaries(st.sampled_from(("input", "messages", "tools", "system")), ITEMS, max_size=1)),
    }
    if changed.get(limit) is None:
        changed[limit] = 20
    request = {"headers": [["Content-Type", "application/json"]], "body_text": json.dumps(changed)}
    status, answer = exchange(recorded_api(path, *flags(path, model)), request)
    assert status in (200, 400, 404)
    if answer.startswith("event: "):
        assert events(answer.encode())[-1]["type"] in ("response.completed", "response.incomplete", "message_stop")
    else:
        assert ("error" in json.loads(answer)) is (status != 200)
