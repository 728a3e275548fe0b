"""The pages of help and of the reference say what is declared."""

from pathlib import Path

import pytest

from mockvllm.cli import serve
from mockvllm.settings.help import help_text, options
from mockvllm.settings.ignored import IGNORED, flags_of
from mockvllm.settings.knob import flag_of
from mockvllm.settings.parser import DECLARED
from mockvllm.settings.reference import markdown

FLAGS = {flag_of(name) for name in DECLARED} | {flags_of(key)[0] for group in IGNORED.values() for key in group}
DOCS = Path(__file__).parent.parent.parent / "docs"


def test_the_reference_page_is_what_the_declarations_say() -> None:
    assert (DOCS / "flags.md").read_text("utf-8") == markdown(), "python -m mockvllm.settings.reference > docs/flags.md"


def test_all_shows_every_flag() -> None:
    shown = {word.strip(",") for word in help_text("all").split()}
    assert shown >= FLAGS


def test_the_overview_shows_the_groups_and_our_own_flags() -> None:
    text = help_text("")
    assert all(name in text for name in options())
    assert "--ttft-ms" in text and "--block-size" not in text


@pytest.mark.parametrize("word", ["CacheConfig", "cacheconfig"])
def test_a_group(word: str) -> None:
    text = help_text(word)
    assert "--block-size INT" in text and "--mamba-block-size" in text
    assert "--max-num-seqs" not in text


@pytest.mark.parametrize("word", ["max-model-len", "--max_model_len", "MAX-MODEL"])
def test_a_flag(word: str) -> None:
    text = help_text(word)
    assert "--max-model-len INT" in text
    assert "--seed" not in text


def test_defaults_and_choices_and_bounds_are_shown() -> None:
    assert "--answer {sentence,repeat,echo,random,lorem}" in help_text("answer")
    assert "(default: sentence)" in help_text("answer")
    assert "in [0, 1) (default: 0)" in help_text("watermark")
    assert "--enable-lora, --disable-lora" in help_text("enable-lora")


def test_nothing_found_says_where_to_look() -> None:
    assert help_text("nonsense").startswith("No group or flag matches 'nonsense'")


@pytest.mark.parametrize(
    ("argv", "word"),
    [
        (["-h"], ""),
        (["m", "--help"], ""),
        (["--help=all", "--port", "x"], "all"),
        (["m", "--helpful"], None),
        ([], None),
    ],
)
def test_how_help_is_asked_for(argv: list[str], word: str | None) -> None:
    assert serve.help_word(argv) == word


def test_the_command_prints_help_whatever_else_is_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    assert serve.main(["--port", "x", "--help=port"]) == 0
    assert "--port INT" in capsys.readouterr().out
