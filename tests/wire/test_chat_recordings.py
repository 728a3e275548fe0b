"""Every recorded chat exchange, byte for byte; where a grammar refused what the model would say, by shape."""

from pathlib import Path

import pytest
from wire_harness import chat_serving, exchange, recorded_flags
from wire_recordings import Case, by_choice, chat_cases, name, normal

from mockvllm.conformance.shapes import shapes


@pytest.mark.parametrize("case", chat_cases(), ids=name)
def test_a_recorded_exchange_replays_equal(case: Case, model: Path) -> None:
    status, body = exchange(chat_serving(*recorded_flags(case, model)), case["request"])
    wanted = case["response"]["body_text"]
    assert status == case["response"]["status"]
    if case.get("script_refused_by_grammar"):
        assert shapes(body) == shapes(wanted)
    elif body.startswith("data:"):
        assert by_choice(normal(body)) == by_choice(normal(wanted))
    else:
        assert normal(body) == normal(wanted)
