"""What may be said by a model that is to call tools."""

from collections.abc import Sequence
from typing import Any

import pytest

from mockvllm.answers.structured import constraint
from mockvllm.answers.structured_text import allows
from mockvllm.answers.tool_calls import ToolCall, ToolFormat
from mockvllm.answers.tool_calls_formats import TOOL_FORMATS, stand_in
from mockvllm.answers.tool_calls_grammar import CallRules, Choice, Tool, tool_tag
from mockvllm.answers.tool_calls_hermes import HERMES
from mockvllm.answers.tool_calls_llama import LLAMA3_JSON

CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
WEATHER, ORDER = Tool("weather", CITY), Tool("order", {"type": "object"})
LOOSE, FOLLOWED = CallRules(follow_schema=False), CallRules(follow_schema=True)
FORMATS = pytest.mark.parametrize("format", [HERMES, LLAMA3_JSON], ids=lambda format: format.name)


def grammar(format: ToolFormat, tools: Sequence[Tool], choice: Choice, rules: CallRules) -> str:
    tag = tool_tag(format, tools, choice, rules)
    assert tag is not None
    return constraint("structural_tag", {"format": tag}).grammar


def call(format: ToolFormat, name: str, arguments: str = "{}") -> str:
    return format.write(ToolCall(name, arguments))


@FORMATS
def test_a_call_is_required(format: ToolFormat) -> None:
    written = grammar(format, [WEATHER, ORDER], "required", LOOSE)
    one, other = call(format, "weather"), call(format, "order")
    assert allows(written, one)
    assert allows(written, one + other)
    for text in ("", "hola", call(format, "nope"), one[:-3]):
        assert not allows(written, text)


@FORMATS
def test_one_call_and_no_more(format: ToolFormat) -> None:
    one, other = call(format, "weather"), call(format, "order")
    for choice, rules in (("required", CallRules(False, single=True)), ("forced", LOOSE)):
        written = grammar(format, [WEATHER, ORDER], choice, rules)
        assert allows(written, one)
        assert not allows(written, one + other)
        assert not allows(written, one + " hola")


@FORMATS
@pytest.mark.parametrize(
    ("rules", "strict", "follows"),
    [
        (LOOSE, None, False),
        (LOOSE, False, False),
        (LOOSE, True, True),
        (FOLLOWED, None, True),
        (FOLLOWED, True, True),
        (FOLLOWED, False, False),
        (CallRules(False, level="parameter"), None, True),
        (CallRules(False, level="function"), None, False),
    ],
)
def test_whether_arguments_follow_their_schema(
    format: ToolFormat, rules: CallRules, strict: bool | None, follows: bool
) -> None:
    written = grammar(format, [Tool("weather", CITY, strict)], "required", rules)
    assert allows(written, call(format, "weather", '{"city": "Cádiz"}'))
    assert allows(written, call(format, "weather", '{"city": 5}')) is not follows


@FORMATS
@pytest.mark.parametrize(
    ("tools", "rules", "binds"),
    [
        ([WEATHER], LOOSE, False),
        ([WEATHER], FOLLOWED, False),
        ([WEATHER, Tool("f", {}, True)], LOOSE, True),
        ([WEATHER], CallRules(False, level="function"), True),
        ([WEATHER], CallRules(False, level="auto"), False),
        ([WEATHER], CallRules(False, single=True), True),
    ],
)
def test_who_may_call_is_bound_only_by_strict_tools(
    format: ToolFormat, tools: list[Tool], rules: CallRules, binds: bool
) -> None:
    assert (tool_tag(format, tools, "auto", rules) is not None) is binds


@FORMATS
def test_who_may_call_says_what_he_wants_and_calls_what_there_is(format: ToolFormat) -> None:
    written = grammar(format, [Tool("weather", CITY, True)], "auto", LOOSE)
    for text in ("", "hola", "hola " + call(format, "weather", '{"city": "x"}') + " adiós"):
        assert allows(written, text)
    for text in (call(format, "nope"), call(format, "weather", '{"city": 5}')):
        assert not allows(written, "hola " + text)


@pytest.mark.parametrize(
    ("schema", "arguments"),
    [
        ({"type": "object", "not": {}, "x-ui": 1, "properties": {"a": {"type": "integer"}}}, '{"a": 1}'),
        ({"properties": {"a": {"type": "string", "pattern": "^(?!x)y$"}}, "required": ["a"]}, '{"a": "y"}'),
        (None, '{"any": "thing"}'),
    ],
)
def test_what_the_grammar_does_not_know_is_ignored(schema: dict[str, Any] | None, arguments: str) -> None:
    written = grammar(HERMES, [Tool("f", schema, True)], "forced", LOOSE)
    assert allows(written, call(HERMES, "f", arguments))


@pytest.mark.parametrize("name", TOOL_FORMATS)
def test_every_parser_reads_what_it_writes(name: str) -> None:
    format = TOOL_FORMATS[name]
    said = ToolCall("f", '{"a": 1}')
    assert [*format.parser().parse(format.write(said)).tool_calls] == [said]
    nearest = stand_in(name)
    assert nearest is None or TOOL_FORMATS[nearest] is format
