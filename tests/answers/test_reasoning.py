"""Reasoning parsers: what is reasoning, where it ends, and how much of it there was."""

from collections.abc import Iterable, Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockvllm.answers.reasoning import ReasoningParser, Split
from mockvllm.answers.reasoning_formats import REASONING_PARSERS
from mockvllm.answers.tool_calls import MessageDelta

WORDS = st.lists(st.sampled_from(["uno", " dos", "\n", "<", "/think", "</", " "]), max_size=6)


def parser(name: str, **variables: object) -> ReasoningParser:
    return REASONING_PARSERS[name](variables)


def fed(made: ReasoningParser, pieces: Iterable[str]) -> list[MessageDelta | None]:
    """The deltas up to where the reasoning ends."""
    deltas = []
    for piece in pieces:
        if made.ended:
            break
        deltas.append(made.feed(piece))
    return deltas


@pytest.mark.parametrize("name", ["deepseek_r1", "qwen3"])
@pytest.mark.parametrize("opening", [["<think>"], []])
@given(words=WORDS)
def test_tags_are_no_text_and_all_before_the_end_tag_is_reasoning(
    name: str, opening: list[str], words: list[str]
) -> None:
    made = parser(name)
    deltas = fed(made, [*opening, *words, "</think>", "no"])
    assert made.ended
    assert deltas[: len(opening)] == [None] * len(opening)
    assert deltas[-1] is None
    assert deltas[len(opening) : -1] == [{"reasoning": word} for word in words]
    text = "".join(words)
    assert parser(name).split("".join((*opening, text, "</think> fin"))) == (
        text or (None if name == "qwen3" else ""),
        " fin",
    )


@pytest.mark.parametrize(
    ("name", "empty"), [("deepseek_r1", {"reasoning": ""}), ("qwen3", None)]
)  # fmt: skip
def test_what_an_empty_text_adds(name: str, empty: MessageDelta | None) -> None:
    assert parser(name).feed("") == empty


@pytest.mark.parametrize(
    ("name", "piece", "delta"),
    [
        ("deepseek_r1", "a</think>b", {"content": "b", "reasoning": "a"}),
        ("deepseek_r1", "a</think>", {"content": None, "reasoning": "a"}),
        ("deepseek_r1", "</think>b", {"content": "b", "reasoning": ""}),
        ("deepseek_r1", "<think>a</think>b", {"content": "b", "reasoning": "a"}),
        ("qwen3", "a</think>b", {"content": "b", "reasoning": "a"}),
        ("qwen3", "a</think>", {"reasoning": "a"}),
        ("qwen3", "</think>b", {"content": "b"}),
        ("qwen3", "a<tool_call>{", {"content": "<tool_call>{", "reasoning": "a"}),
        ("qwen3", "<tool_call>", {"content": "<tool_call>"}),
    ],
)
def test_a_piece_of_several_tokens_may_hold_the_end(name: str, piece: str, delta: MessageDelta) -> None:
    made = parser(name)
    assert made.feed(piece) == delta
    assert made.ended


@pytest.mark.parametrize(
    ("name", "variables", "text", "split"),
    [
        ("deepseek_r1", {}, "Hola.", ("Hola.", None)),
        ("deepseek_r1", {"enable_thinking": False}, "Hola.", ("Hola.", None)),
        ("deepseek_r1", {}, "<think>a", ("a", None)),
        ("deepseek_r1", {}, "</think>", ("", None)),
        ("deepseek_r1", {}, "a</think>b</think>c", ("a", "b</think>c")),
        ("deepseek_r1", {}, "a<tool_call>", ("a<tool_call>", None)),
        ("qwen3", {}, "Hola.", ("Hola.", None)),
        ("qwen3", {"enable_thinking": False}, "Hola.", (None, "Hola.")),
        ("qwen3", {"enable_thinking": False}, "a</think>b", (None, "a</think>b")),
        ("qwen3", {"enable_thinking": True}, "a</think>b", ("a", "b")),
        ("qwen3", {}, "</think>", (None, None)),
        ("qwen3", {}, "a<tool_call>{}", ("a", "<tool_call>{}")),
        ("qwen3", {}, "<tool_call>{}</think>x", (None, "<tool_call>{}</think>x")),
        ("qwen3", {}, "a<think>b</think>c<think>", ("ab", "c<think>")),
        ("deepseek_r1", {}, "a<think>b</think>c<think>", ("b", "c<think>")),
    ],
)
def test_a_whole_text(name: str, variables: Mapping[str, object], text: str, split: Split) -> None:
    assert parser(name, **variables).split(text) == split


@pytest.mark.parametrize(
    ("prompt", "r1", "qwen3"),
    [
        ("hola", False, False),
        ("<think>", False, False),
        ("<think>\n</think>\n", True, True),
        ("</think> y <think>", False, False),
        ("<tool_call>{}</tool_call>", False, True),
        ("<tool_call> <think>", False, False),
    ],
)
def test_prompts_that_close_the_reasoning(prompt: str, r1: bool, qwen3: bool) -> None:
    assert parser("deepseek_r1").closed_by(prompt) == r1
    assert parser("qwen3").closed_by(prompt) == qwen3
    assert parser("qwen3", enable_thinking=False).closed_by(prompt)


@pytest.mark.parametrize(
    ("tokens", "r1", "qwen3"),
    [
        (["<think>", "a", "b", "</think>", "c", None], 2, 2),
        (["a", "b", "</think>", "c", None], 0, 2),
        (["<think>", "a", "b", None], 3, 2),
        (["a", "b", None], 0, 2),
        (["<think>", "a", "<think>", "b", "</think>", "c", "</think>", "d"], 3, 2),
        (["a", "<tool_call>", "b"], 0, 1),
        ([], 0, 0),
    ],
)
def test_counts(tokens: list[str | None], r1: int, qwen3: int) -> None:
    for name, variables, total in (
        ("deepseek_r1", {}, r1),
        ("qwen3", {}, qwen3),
        ("qwen3", {"enable_thinking": False}, 0),
    ):
        counter = parser(name, **variables).counter()
        for token in tokens:
            counter.add(token)
        assert counter.total == total, (name, variables)
