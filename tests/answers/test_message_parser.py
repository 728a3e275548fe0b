"""Reasoning first, then calls: who sees which text, and what of it is a delta."""

from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockvllm.answers.message_parser import MessageParser
from mockvllm.answers.reasoning_formats import REASONING_PARSERS
from mockvllm.answers.tool_calls import Message, MessageDelta, NoToolCalls, ToolCall, ToolCallDelta, ToolParser
from mockvllm.answers.tool_calls_hermes import HermesToolParser
from mockvllm.answers.tool_calls_llama import Llama3JsonToolParser

THOUGHT = ["<think>", "pienso", "</think>"]
CALL = ["<tool_call>", '{"name": "f", ', '"arguments": {}', "}", "</tool_call>"]


def parser(reasoning: str | None, tools: ToolParser | None, **options: bool) -> MessageParser:
    return MessageParser(REASONING_PARSERS[reasoning]({}) if reasoning else None, tools, **options)


def said(made: MessageParser, *pieces: str) -> list[MessageDelta | None]:
    """The deltas; the last piece is the end of the turn, which has no text."""
    return [*map(made.feed, pieces), made.feed("", finished=True)]


@pytest.mark.parametrize(
    ("reasoning", "tools", "end"),
    [
        (None, None, {"content": ""}),
        (None, NoToolCalls(), None),
        (None, HermesToolParser(), None),
        (None, Llama3JsonToolParser(), {"content": ""}),
        ("deepseek_r1", None, {"reasoning": ""}),
        ("qwen3", None, None),
    ],
)
def test_how_a_turn_ends(reasoning: str | None, tools: ToolParser | None, end: MessageDelta | None) -> None:
    assert said(parser(reasoning, tools), "hola")[-1] == end


@pytest.mark.parametrize("name", ["deepseek_r1", "qwen3"])
@pytest.mark.parametrize(("tools", "end"), [(None, {"content": ""}), (NoToolCalls(), None)])
def test_content_behind_reasoning(name: str, tools: ToolParser | None, end: MessageDelta | None) -> None:
    deltas = said(parser(name, tools), *THOUGHT, "hola")
    assert deltas == [None, {"reasoning": "pienso"}, None, {"content": "hola"}, end]


def test_the_end_of_reasoning_starts_the_tool_parser_even_in_one_piece() -> None:
    call = "".join(CALL)
    named = [ToolCallDelta(0, name="f"), ToolCallDelta(0, None, "{}")]
    whole = parser("qwen3", HermesToolParser()).feed(f"a</think>{call}")
    assert whole == {"content": None, "tool_calls": named, "reasoning": "a"}
    deltas = said(parser("qwen3", HermesToolParser()), *THOUGHT, *CALL)
    assert list(chain.from_iterable((delta or {}).get("tool_calls", ()) for delta in deltas)) == [
        ToolCallDelta(0, name="f"),
        ToolCallDelta(0, None, "{}"),
    ]


def test_a_prompt_that_closed_the_reasoning_makes_all_of_a_stream_content() -> None:
    deltas = said(parser("qwen3", NoToolCalls(), closed=True), *THOUGHT)
    assert deltas == [*({"content": piece} for piece in THOUGHT), None]
    assert parser("qwen3", NoToolCalls(), closed=True).parse("".join(THOUGHT)) == Message(None, (), "pienso")


@pytest.mark.parametrize("name", ["deepseek_r1", "qwen3"])
def test_reasoning_that_is_not_wanted_leaves_a_null_behind(name: str) -> None:
    made = parser(name, HermesToolParser(), include_reasoning=False)
    assert said(made, *THOUGHT, "hola")[:4] == [None, None, None, {"content": "hola", "reasoning": None}]
    assert said(made, *CALL)[1] == {"content": None, "tool_calls": [ToolCallDelta(0, name="f")], "reasoning": None}
    assert parser(name, None, include_reasoning=False).parse("a</think>b") == Message("b", (), None)


def test_a_stream_that_ends_inside_of_a_call_is_completed() -> None:
    made = parser(None, Llama3JsonToolParser())
    made.feed('{"name": "f", ')
    made.feed('"parameters": ')
    made.feed('{"a": "b')
    assert made.feed('c", "d": ', finished=False) == {"tool_calls": [ToolCallDelta(0, None, '{"a": "b')]}
    assert made.feed("[1", finished=True) == {"tool_calls": [ToolCallDelta(0, None, 'c", "d": [1]}')]}


def test_a_name_that_is_the_last_delta_gets_arguments() -> None:
    made = parser(None, HermesToolParser())
    made.feed('<tool_call>{"name": "f')
    assert made.feed('"', finished=True) == {"content": None, "tool_calls": [ToolCallDelta(0, "f", "")]}


@given(st.sampled_from(["deepseek_r1", "qwen3", None]), st.lists(st.sampled_from([*THOUGHT, *CALL, "a", " "])))
def test_a_stream_without_calls_adds_up_to_the_whole(name: str | None, pieces: list[str]) -> None:
    made, whole = parser(name, NoToolCalls()), parser(name, NoToolCalls()).parse("".join(pieces))
    deltas = said(made, *pieces)
    if pieces.count("<think>") > 1 or "<tool_call>" in pieces or pieces[1:].count("<think>"):
        return  # vLLM takes tags in odd places differently in its two ways
    assert "".join((delta or {}).get("content") or "" for delta in deltas) == (whole.content or "")
    assert "".join((delta or {}).get("reasoning") or "" for delta in deltas) == (whole.reasoning or "")


def test_a_whole_message_has_all_three() -> None:
    text = "".join((*THOUGHT, " hola ", *CALL))
    assert parser("qwen3", HermesToolParser()).parse(text) == Message(" hola ", [ToolCall("f", "{}")], "pienso")
    assert parser(None, None).parse(text) == Message(text)
    assert parser("deepseek_r1", HermesToolParser()).parse("solo pienso") == Message(None, (), "solo pienso")
