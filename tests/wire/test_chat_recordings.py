"""Every recorded chat exchange, byte for byte; where a grammar refused what the model would say, by shape."""

from pathlib import Path

import pytest
from wire_harness import chat_serving, exchange, recorded_flags
from wire_recordings import Case, chat_cases, difference, name


@pytest.mark.parametrize("case", chat_cases(), ids=name)
def test_a_recorded_exchange_replays_equal(case: Case, model: Path) -> None:
    status, body = exchange(chat_serving(*recorded_flags(case, model)), case["request"])
    recorded = case["response"]["headers"]  # the endpoint alone has none
    assert difference(case, status, recorded, body) is None
