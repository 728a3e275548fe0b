"""`hermes`: what is a call, what is content, and how both leave piece by piece."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tool_call_texts import CALLS, calls_of, content_of, cut, dumps

from mockvllm.answers.tool_calls import MessageDelta, ToolCall, ToolCallDelta
from mockvllm.answers.tool_calls_hermes import HERMES, HermesToolParser

MADRID = '<tool_call>\n{"name": "tiempo", "arguments": {"a": 1}}\n</tool_call>'


def fed(*pieces: str) -> list[MessageDelta | None]:
    parser = HermesToolParser()
    return [parser.feed(piece) for piece in pieces]


def named(name: str, index: int = 0) -> MessageDelta:
    return {"content": None, "tool_calls": [ToolCallDelta(index, name=name)]}


def arguments(text: str, index: int = 0) -> MessageDelta:
    return {"content": None, "tool_calls": [ToolCallDelta(index, arguments=text)]}


def test_one_delta_a_piece_the_last_brace_withheld() -> None:
    pieces = [
        "<tool_call>",
        '\n{"name": "',
        "tiempo",
        '", "arguments"',
        ": {",
        '"a": ',
        "1",
        "}}",
        "\n",
        "</tool_call>",
    ]
    wanted = [None, None, None, named("tiempo"), arguments("{"), arguments('"a":'), arguments(" 1"), arguments("}")]
    assert fed(*pieces) == [*wanted, None, None]


def test_name_and_arguments_may_come_together() -> None:
    (delta,) = fed(MADRID)
    assert delta == {
        "content": None,
        "tool_calls": [ToolCallDelta(0, name="tiempo"), ToolCallDelta(0, None, '{"a": 1}')],
    }


def test_content_stands_before_the_first_call_only() -> None:
    deltas = fed("uno <tool", "dos ", MADRID, " tres ", MADRID.replace("tiempo", "hora"), "cuatro")
    assert deltas[:2] == [{"content": "uno "}, {"content": "<tooldos "}]
    assert content_of(deltas) == "uno <tooldos "
    assert calls_of(deltas) == [ToolCall("tiempo", '{"a": 1}'), ToolCall("hora", '{"a": 1}')]


@pytest.mark.parametrize("tail", ["<", "<tool_cal", "a<tool"])
def test_what_may_begin_a_tag_waits(tail: str) -> None:
    parser = HermesToolParser()
    first, second = parser.feed("x" + tail), parser.feed("!")
    held = tail[tail.index("<") :]
    assert first == {"content": ("x" + tail).removesuffix(held)}
    assert second == {"content": held + "!"}


@pytest.mark.parametrize(
    ("body", "calls"),
    [
        ('{"name": "f", "arguments": {}}', [ToolCall("f", "{}")]),
        ('{"name": "f", "arguments": "x"}', [ToolCall("f", '"x"')]),
        ('{"name": "f", "arguments": [1, {"b": 2}]}', [ToolCall("f", '[1, {"b": 2}]')]),
        ('{"arguments": {"a": 1}, "name": "f"}', [ToolCall("f", '{"a": 1}')]),
        ('{"name": "f", "arguments": {"a": 1}', []),
        ('{"name": "f"}', []),
        ('["f"]', []),
        ("", []),
    ],
)
def test_a_whole_text_has_calls_or_is_content(body: str, calls: list[ToolCall]) -> None:
    for text in (f"<tool_call>{body}</tool_call>", f"<tool_call>\n{body}"):
        message = HermesToolParser().parse(text)
        assert list(message.tool_calls) == calls
        assert message.content == (None if calls else text)


def test_one_bad_call_spoils_them_all() -> None:
    text = f"{MADRID}<tool_call>{{mal}}</tool_call>"
    assert HermesToolParser().parse(text) == (text, (), None)


def test_a_call_without_a_name_hides_those_behind_it() -> None:
    assert fed('<tool_call>{"arguments": {}}</tool_call>', MADRID) == [None, None]


@pytest.mark.parametrize("before", ["", " \n", "uno "])
def test_blank_content_before_a_call_is_none(before: str) -> None:
    assert HermesToolParser().parse(before + MADRID).content == (before if before.strip() else None)


@given(CALLS, st.data())
def test_a_stream_adds_up_to_its_calls_however_it_is_cut(calls: list[tuple[str, Any]], data: st.DataObject) -> None:
    wanted = [ToolCall(name, dumps(value)) for name, value in calls]
    text = "\n".join(HERMES.write(call) for call in wanted)
    if text.count("<tool_call>") > len(calls) or text.count("</tool_call>") > len(calls):
        return
    deltas = fed(*data.draw(cut("hola " + text)))
    assert (content_of(deltas), calls_of(deltas)) == ("hola ", wanted)
    message = HermesToolParser().parse(text)
    assert [(name, json.loads(value)) for name, value in message.tool_calls] == calls


@given(st.text(st.sampled_from('<tool_cal>/"name:{}argumets, f1\\')), st.data())
def test_any_text_is_taken(text: str, data: st.DataObject) -> None:
    deltas = fed(*data.draw(cut(text)))
    if "<tool_call>" not in text:
        assert text.startswith(content_of(deltas))
        assert HermesToolParser().parse(text).content == text
