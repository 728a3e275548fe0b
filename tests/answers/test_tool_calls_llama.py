"""`llama3_json`: bare objects, and the habits of vLLM's parser that a client can see."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tool_call_texts import CALLS, calls_of, content_of, cut, dumps

from mockvllm.answers.tool_calls import MessageDelta, ToolCall, ToolCallDelta
from mockvllm.answers.tool_calls_llama import LLAMA3_JSON, Llama3JsonToolParser


def fed(*pieces: str) -> list[MessageDelta | None]:
    parser = Llama3JsonToolParser()
    return [parser.feed(piece) for piece in pieces]


def parts(*pieces: str) -> list[tuple[int, str | None, str | None] | None]:
    """Each delta's only part, as (index, name, arguments)."""
    found: list[tuple[int, str | None, str | None] | None] = []
    for delta in fed(*pieces):
        (part,) = (delta or {}).get("tool_calls", [None])
        found.append(part and (part.index, part.name, part.arguments))
    return found


def test_arguments_leave_when_two_readings_agree() -> None:
    steps: list[tuple[str, tuple[int, str | None, str | None] | None]] = [
        ('{"name": "', None),
        ("f", None),
        ('", ', (0, "f", None)),
        ('"parameters": {', None),
        ('"a": "', None),
        ("uno", (0, None, '{"a": "')),
        (" dos", (0, None, "uno")),
        ('"', None),
        (', "b": 7', (0, None, ' dos"')),
        ("1", (0, None, ', "b": 7')),
        ("}", None),
        ("}", (0, None, "1}")),
    ]
    assert parts(*[piece for piece, _ in steps]) == [part for _, part in steps]


def test_a_complete_call_says_the_rest_and_then_nothing_over_and_over() -> None:
    assert parts('{"name": "f"', ', "parameters": {"a": 1}}', "", "") == [
        None,
        (0, "f", None),
        (0, None, '{"a": 1}'),
        (0, None, ""),
    ]


def test_the_second_call_begins_behind_the_separator() -> None:
    first = '{"name": "f", "parameters": {"a": 1}}'
    pieces = ["{", first[1:], "", "; {", '"name": "g"', ", ", '"arguments": {"b": 2}}']
    assert parts(*pieces) == [
        None,
        (0, "f", None),
        (0, None, '{"a": 1}'),
        (0, None, ""),
        (1, "g", None),
        None,
        (1, None, '{"b": 2}'),
    ]


def test_text_that_begins_otherwise_is_content() -> None:
    assert fed("Voy: ", '{"name": "f", "parameters": {}}', "") == [
        {"content": "Voy: "},
        {"content": '{"name": "f", "parameters": {}}'},
        {"content": ""},
    ]


def test_the_python_tag_may_stand_before_a_call() -> None:
    deltas = fed("<|python_tag|>", '{"name": "f", ', '"parameters": {"a": 1}', "}")
    assert deltas[0] is None
    assert calls_of(deltas) == [ToolCall("f", '{"a": 1}')]


@pytest.mark.parametrize(
    "text", ['{"ciudad": "Madrid"}', '{"name": 5, "parameters": {}}', "{mal}", "{", '{"name": ""}']
)
def test_an_object_that_is_no_call_is_never_said(text: str) -> None:
    assert fed(*text) == [None] * len(text)


def test_with_both_kinds_of_arguments_nothing_more_is_said() -> None:
    deltas = fed(*'{"name": "f", "parameters": {"a": 1}, "arguments": {"a": 1}}')
    assert calls_of(deltas) == [ToolCall("f", "")]


def test_what_is_implied_at_the_end() -> None:
    parser = Llama3JsonToolParser()
    assert parser.rest() == ""
    for piece in ('{"name": "f"', ", ", '"parameters": {"a": "b', 'c", "d": ['):
        parser.feed(piece)
    assert parser.rest() == 'c", "d": []}'


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ('{"name": "f", "parameters": {"a": 1}}', [ToolCall("f", '{"a": 1}')]),
        ('{"name": "f", "arguments": {"ñ": "á"}}', [ToolCall("f", '{"ñ": "á"}')]),
        ('{"name": "f", "arguments": 1, "parameters": 2}', [ToolCall("f", "1")]),
        ('uno {"name": "f", "parameters": {}} dos', [ToolCall("f", "{}")]),
        ('{"name": "f", "parameters": {}}{"name": "g", "parameters": {}}', [ToolCall("f", "{}"), ToolCall("g", "{}")]),
        (
            '{"name": "f", "parameters": {"name": "g", "parameters": {}}}',
            [ToolCall("f", '{"name": "g", "parameters": {}}')],
        ),
        ('{"name": "f", "parameters": {}} y {', []),
        ('{"name": "f", "parameters": {}} {"a": 1}', []),
        ('{"name": "f"}', []),
        ("{llaves}", []),
        ("nada", []),
        ("", []),
    ],
)
def test_a_whole_text_has_calls_or_is_content(text: str, calls: list[ToolCall]) -> None:
    message = Llama3JsonToolParser().parse(text)
    assert (message.content, list(message.tool_calls)) == (None if calls else text, calls)


@given(CALLS, st.data())
def test_a_whole_text_has_the_calls_that_were_written(calls: list[tuple[str, Any]], data: st.DataObject) -> None:
    wanted = [ToolCall(name, dumps(value)) for name, value in calls]
    message = Llama3JsonToolParser().parse("; ".join(LLAMA3_JSON.write(call) for call in wanted))
    assert list(message.tool_calls) == wanted


@given(CALLS, st.data())
def test_a_stream_of_characters_adds_up_to_a_call(calls: list[tuple[str, Any]], data: st.DataObject) -> None:
    name, value = calls[0]
    deltas = fed(*LLAMA3_JSON.write(ToolCall(name, dumps(value))), "")
    (call,) = calls_of(deltas)
    assert (call.name, json.loads(call.arguments or "{}")) == (name, value)


@given(st.text(st.sampled_from('{}[]":,; name1e.-\\upartgs')), st.data())
def test_any_text_is_taken(text: str, data: st.DataObject) -> None:
    deltas = fed(*data.draw(cut(text)))
    if not text.startswith("{"):
        assert content_of(deltas) == text
    Llama3JsonToolParser().parse(text)


def test_deltas_carry_no_content() -> None:
    deltas = fed('{"name": "f"', ", ", '"parameters": {"a": 1}}')
    assert [delta and delta.keys() for delta in deltas] == [None, {"tool_calls"}, {"tool_calls"}]
    assert deltas[1] == {"tool_calls": [ToolCallDelta(0, name="f")]}
