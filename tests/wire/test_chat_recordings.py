"""Every recorded chat exchange that needs no tool parser, reasoning parser, grammar or beam search, byte for byte."""

from pathlib import Path

import pytest
from wire_harness import chat_serving, exchange, recorded_flags
from wire_recordings import Case, by_choice, normal, recordings

GROUPS = (
    "chat_basic",
    "chat_stream",
    "chat_stop",
    "chat_params",
    "chat_body",
    "chat_messages",
    "chat_logprobs",
    "chat_extra",
    "context",
    "flags",
    "interval",
    "structured",
    "tools_no_parser",
)
NEEDS_GRAMMAR = ("json_schema_invalid_type", "json_schema_ref_unknown", "so_grammar_bad", "so_regex_bad")
NEEDS_BEAM_SEARCH = ("beam_search",)


def is_chat(case: Case) -> bool:
    path = case["request"]["path"].partition("?")[0]
    wanted = case["group"] in GROUPS and case["case"] not in NEEDS_GRAMMAR + NEEDS_BEAM_SEARCH
    return wanted and path == "/v1/chat/completions" and case["request"]["method"] == "POST"


def chat_cases() -> list[Case]:
    return [case for version in ("0.33.0", "0.32.0", "0.30.0") for case in recordings(version) if is_chat(case)]


def name(case: Case) -> str:
    return f"{case['version']}-{case['group']}-{case['case']}"


@pytest.mark.parametrize("case", chat_cases(), ids=name)
def test_a_recorded_exchange_replays_equal(case: Case, model: Path) -> None:
    status, body = exchange(chat_serving(*recorded_flags(case, model)), case["request"])
    wanted = case["response"]["body_text"]
    assert status == case["response"]["status"]
    if body.startswith("data:"):
        assert by_choice(normal(body)) == by_choice(normal(wanted))
    else:
        assert normal(body) == normal(wanted)
