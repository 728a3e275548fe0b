"""Recorded requests, changed at random: whatever comes, it is answered, and nothing else happens."""

import json
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from wire_harness import chat_serving, exchange, recorded_flags
from wire_recordings import chat_cases

BODIES = [
    json.loads(case["request"]["body_text"])
    for case in chat_cases()
    if case["response"]["status"] == 200 and len(case["request"]["body_text"]) < 2000
]
FIELDS = sorted({name for body in BODIES for name in body})
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
FROM_OTHERS = st.sampled_from(BODIES).flatmap(lambda body: st.sampled_from(sorted(body.items(), key=str)))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    body=st.sampled_from(BODIES),
    borrowed=st.lists(FROM_OTHERS, max_size=3),
    broken=st.dictionaries(st.sampled_from(FIELDS), JSON, max_size=2),
)
def test_every_request_is_answered(
    model: Path, body: dict[str, Any], borrowed: list[tuple[str, Any]], broken: dict[str, Any]
) -> None:
    changed = {**body, **dict(borrowed), **broken}
    if "max_completion_tokens" not in changed and changed.get("max_tokens") is None:
        changed["max_tokens"] = 20
    changed["n"] = 2 if changed.get("n") == 200 else changed.get("n", 1)
    request = {"headers": [["Content-Type", "application/json"]], "body_text": json.dumps(changed)}
    status, answer = exchange(chat_serving(*recorded_flags(chat_cases()[0], model)), request)
    assert status in (200, 400, 404)
    assert answer.startswith(("data: ", "{"))
    if answer.startswith("{"):
        assert ("error" in json.loads(answer)) is (status != 200)
    else:
        assert answer.endswith("data: [DONE]\n\n")
