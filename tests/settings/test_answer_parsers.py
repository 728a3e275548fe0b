"""Parsers of tool calls and reasoning: which names there are, and what is said of a stand-in."""

import pytest

from mockvllm.settings import SettingsError, load, parse

AUTO = "--enable-auto-tool-choice --tool-call-parser"


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (
            f"{AUTO} qwen25",
            r"^--tool-call-parser: no such parser: 'qwen25' \(choose from .*hermes, .*llama3_json, .*\)$",
        ),
        (
            "--reasoning-parser r1",
            r"^--reasoning-parser: no such parser: 'r1' \(choose from .*deepseek_r1, .*qwen3, .*\)$",
        ),
    ],
)
def test_a_name_that_nobody_knows_is_refused(flags: str, said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        load(flags.split(), {})


@pytest.mark.parametrize(
    ("flags", "notes"),
    [
        (f"{AUTO} hermes --reasoning-parser qwen3", ()),
        (f"{AUTO} llama3_json --reasoning-parser deepseek_r1", ()),
        (f"{AUTO} llama4_json", ()),
        (f"{AUTO} qwen3_coder", ("--tool-call-parser qwen3_coder: answers are written and read as with hermes",)),
        (f"{AUTO} mistral", ("--tool-call-parser mistral: answers are written and read as with llama3_json",)),
        ("--reasoning-parser glm45", ("--reasoning-parser glm45: answers are written and read as with qwen3",)),
        ("--tool-call-parser qwen25", ("without effect without --enable-auto-tool-choice: --tool-call-parser",)),
        ("--reasoning-parser ''", ()),
    ],
)
def test_what_stands_in_for_a_parser_is_said(flags: str, notes: tuple[str, ...]) -> None:
    words = [word.strip("'") for word in flags.split()]
    assert parse(words).notes == notes
    assert load(words, {})
