"""Tools on /v1/chat/completions: who calls when nobody says anything, and how calls are sent."""

import json
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from chat_client import HOLA, prepare, refusal, stream, whole, words
from jsonschema import Draft202012Validator
from wire_harness import chat_serving

from mockvllm.answers.speaker import SENTENCE
from mockvllm.server.chat import ChatServing

PROFILES = pytest.mark.parametrize("profile", ["0.30", "0.32", "0.33"])
PARSERS = pytest.mark.parametrize("parser", ["hermes", "llama3_json"])
CITY = {
    "type": "object",
    "properties": {"city": {"type": "string", "minLength": 2}, "days": {"type": "integer", "minimum": 1, "maximum": 7}},
    "required": ["city", "days"],
}
ZIP = {"type": "object", "properties": {"zip": {"type": "string", "pattern": "^[0-9]{5}$"}}, "required": ["zip"]}
NODE = {
    "type": "object",
    "properties": {"value": {"enum": ["x", "y"]}, "next": {"anyOf": [{"type": "null"}, {"$ref": "#"}]}},
    "required": ["value", "next"],
}


def tool(name: str, parameters: Any = None, **function: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "parameters": parameters, **function}}


def named(name: str) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name}}


TOOLS = [tool("weather", CITY), tool("post", ZIP), tool("walk", NODE), tool("ping")]
SCHEMAS = {"weather": CITY, "post": ZIP, "walk": NODE, "ping": {"type": "object"}}


@cache
def caller(parser: str = "hermes", profile: str = "0.33", **options: Any) -> ChatServing:
    return words(profile, tool_call_parser=parser, **options)


def calls_of(body: dict[str, Any]) -> list[tuple[str, Any]]:
    """The calls of a whole answer: names and arguments."""
    message = body["choices"][0]["message"]
    functions = [call["function"] for call in message.get("tool_calls", ())]
    return [(function["name"], json.loads(function["arguments"])) for function in functions]


def streamed(chunks: Sequence[Any]) -> tuple[str, list[tuple[str, str]], str | None]:
    """What the deltas of a stream add up to: content, calls, the reason to finish."""
    content, calls, reason = "", dict[int, list[str]](), None
    for choice in (chunk["choices"][0] for chunk in chunks[:-1] if chunk["choices"]):
        content += choice["delta"].get("content") or ""
        reason = choice["finish_reason"] or reason
        for call in choice["delta"].get("tool_calls", ()):
            if "name" in call["function"]:
                assert call["id"].startswith("chatcmpl-tool-")
                assert call["type"] == "function"
                calls[call["index"]] = [call["function"]["name"], ""]
            calls[call["index"]][1] += call["function"].get("arguments", "")
    return content, [(name, arguments) for name, arguments in calls.values()], reason


# --- nobody says anything -----------------------------------------------------------------------------------------


@PROFILES
@PARSERS
@pytest.mark.parametrize("name", SCHEMAS)
def test_a_named_function_is_called_as_its_schema_says(parser: str, profile: str, name: str) -> None:
    body = whole(caller(parser, profile), tools=TOOLS, tool_choice=named(name))
    ((called, arguments),) = calls_of(body)
    assert called == name
    assert Draft202012Validator(SCHEMAS[name]).is_valid(arguments)
    assert body["choices"][0]["finish_reason"] == "stop"
    assert body["choices"][0]["message"]["content"] == ""


@PROFILES
@PARSERS
@pytest.mark.parametrize("choice", ["required", "auto", None])
def test_the_first_function_is_called(parser: str, profile: str, choice: str | None) -> None:
    fields = {"tools": TOOLS} if choice is None else {"tools": TOOLS, "tool_choice": choice}
    body = whole(caller(parser, profile), **fields)
    ((called, arguments),) = calls_of(body)
    assert called == "weather"
    assert Draft202012Validator(CITY).is_valid(arguments)
    assert body["choices"][0]["finish_reason"] == "tool_calls"
    assert body["choices"][0]["message"]["content"] == ("" if choice == "required" else None)


@PARSERS
@pytest.mark.parametrize("choice", ["required", "auto", named("post")])
@pytest.mark.parametrize("interval", [1, 3, 100])
def test_a_stream_says_the_same(parser: str, choice: Any, interval: int) -> None:
    serving = caller(parser, stream_interval=interval)
    content, calls, reason = streamed(stream(serving, tools=TOOLS, tool_choice=choice))
    body = whole(serving, tools=TOOLS, tool_choice=choice)
    assert content.strip() == ""
    assert [(name, json.loads(arguments)) for name, arguments in calls] == calls_of(body)
    assert reason == body["choices"][0]["finish_reason"]


@PARSERS
def test_with_a_tokenizer_of_a_model(parser: str, model: Path) -> None:
    flags = ["--tokenizer", str(model), "--hf-config-path", str(model)]
    serving = chat_serving(*flags, "--enable-auto-tool-choice", "--tool-call-parser", parser)
    for choice in ("required", named("walk"), "auto"):
        ((name, arguments),) = calls_of(whole(serving, tools=TOOLS, tool_choice=choice))
        assert Draft202012Validator(SCHEMAS[name]).is_valid(arguments)


def test_who_has_the_result_says_the_sentence() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "ping", "arguments": "{}"}}
    messages = [
        *HOLA,
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "x"},
    ]
    for fields in ({}, {"tool_choice": "auto"}):
        body = whole(caller(), messages=messages, tools=TOOLS, **fields)
        assert body["choices"][0]["message"]["content"] == SENTENCE
        assert not calls_of(body)
    body = whole(caller(), messages=messages, tools=TOOLS, tool_choice="required")
    assert calls_of(body)[0][0] == "weather"
    further = [*messages, {"role": "user", "content": "y"}]
    assert calls_of(whole(caller(), messages=further, tools=TOOLS))[0][0] == "weather"


def test_who_wants_no_call_gets_none() -> None:
    body = whole(caller(), tools=TOOLS, tool_choice="none")
    assert body["choices"][0]["message"]["content"] == SENTENCE
    assert whole(caller())["choices"][0]["message"]["content"] == SENTENCE


def test_another_answer_than_the_sentence_calls_only_what_it_must() -> None:
    serving = caller(answer="repeat")
    body = whole(serving, tools=TOOLS, max_tokens=4)
    assert body["choices"][0]["message"]["content"]
    assert not calls_of(body)
    assert calls_of(whole(serving, tools=TOOLS, tool_choice="required"))[0][0] == "weather"


def test_every_choice_calls() -> None:
    body = whole(caller(), tools=TOOLS, tool_choice="required", n=3)
    assert [len(choice["message"]["tool_calls"]) for choice in body["choices"]] == [1, 1, 1]
    ids = {choice["message"]["tool_calls"][0]["id"] for choice in body["choices"]}
    assert len(ids) == 3


@pytest.mark.parametrize(
    "parameters", [{"type": "object", "required": ["a"], "additionalProperties": False}, {"type": 5}]
)
def test_a_schema_that_nothing_satisfies_takes_no_arguments(parameters: Any) -> None:
    for strict in (None, True):
        body = whole(caller(), tools=[tool("f", parameters, strict=strict)], tool_choice="required")
        assert calls_of(body) == [("f", {})]


def test_without_the_engine_calls_are_made_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "llguidance", None)
    for choice in ("required", named("post")):
        ((name, arguments),) = calls_of(whole(caller(), tools=TOOLS, tool_choice=choice))
        assert Draft202012Validator(SCHEMAS[name]).is_valid(arguments)
    patterns = [{"pattern": pattern} for pattern in ("^.{7}$", "[A-Z]b", "[0-9]c$")]
    hard = {"required": ["a"], "properties": {"a": {"type": "string", "allOf": patterns}}}
    error = refusal(caller(), tools=[tool("f", hard)], tool_choice="required")
    assert error.status == 501
    assert "pip install 'mockvllm[structured]'" in error.message


# --- somebody says something --------------------------------------------------------------------------------------

HERMES_CALL = '<tool_call>\n{"name": "ping", "arguments": {"a": 1}}\n</tool_call>'
LLAMA_CALL = '{"name": "ping", "parameters": {"a": 1}}'


def test_scripted_calls_are_read() -> None:
    for parser, call in (("hermes", HERMES_CALL), ("llama3_json", LLAMA_CALL)):
        body = whole(caller(parser), tools=TOOLS, mock={"say": call})
        assert calls_of(body) == [("ping", {"a": 1})]
        assert streamed(stream(caller(parser), tools=TOOLS, mock={"say": call}))[1] == [("ping", '{"a": 1}')]


def test_text_before_a_call_is_content() -> None:
    said = {"say": "Miro. " + HERMES_CALL}
    body = whole(caller(), tools=TOOLS, mock=said)
    assert body["choices"][0]["message"]["content"].strip() == "Miro."
    content, calls, _ = streamed(stream(caller(), tools=TOOLS, mock=said))
    assert content.strip() == "Miro."
    assert calls == [("ping", '{"a": 1}')]


def test_without_tools_the_parser_still_reads() -> None:
    """vLLM leaves a text alone only where `tool_choice` is none, which a request without tools implies."""
    body = whole(caller(), mock={"say": HERMES_CALL})
    assert body["choices"][0]["message"]["content"] == HERMES_CALL
    body = whole(caller(), tools=TOOLS, tool_choice="none", mock={"say": HERMES_CALL})
    assert body["choices"][0]["message"]["content"] == HERMES_CALL


@PROFILES
def test_only_one_call(profile: str) -> None:
    said = {"say": f"{HERMES_CALL}\n{HERMES_CALL}"}
    serving = caller("hermes", profile)
    assert len(calls_of(whole(serving, tools=TOOLS, mock=said))) == 2
    single = {"tools": TOOLS, "parallel_tool_calls": False, "mock": said}
    body, chunks = whole(serving, **single), stream(serving, **single, stream_options={"include_usage": True})
    assert calls_of(body) == [("ping", {"a": 1})]
    assert streamed(chunks)[1] == [("ping", '{"a": 1}')]
    ends_behind_the_first = profile != "0.30"
    one = whole(serving, tools=TOOLS, mock={"say": HERMES_CALL})["usage"]["completion_tokens"]
    assert (body["usage"]["completion_tokens"] == one) is ends_behind_the_first
    assert (chunks[-2]["usage"]["completion_tokens"] == one) is ends_behind_the_first


@PROFILES
def test_a_call_that_is_cut(profile: str) -> None:
    serving, said = caller("hermes", profile), {"say": f"{HERMES_CALL} y más y más y más"}
    reason = "tool_calls" if profile == "0.30" else "length"
    tokens = whole(serving, tools=TOOLS, mock={"say": HERMES_CALL})["usage"]["completion_tokens"]
    cut = {"tools": TOOLS, "mock": said, "max_tokens": tokens + 2}
    body = whole(serving, **cut)
    assert calls_of(body) == [("ping", {"a": 1})]
    assert body["choices"][0]["finish_reason"] == reason
    assert streamed(stream(serving, **cut))[2] == reason


@PROFILES
def test_logprobs_of_what_is_withheld(profile: str) -> None:
    serving = caller("hermes", profile)
    fields = {"tools": TOOLS, "mock": {"say": HERMES_CALL}, "logprobs": True}
    chunks = [chunk["choices"][0] for chunk in stream(serving, **fields)[1:-1]]
    shown = sum(len(choice["logprobs"]["content"]) for choice in chunks if choice["logprobs"])
    usage = whole(serving, **fields)["usage"]["completion_tokens"]
    assert (shown == usage) is (profile != "0.30")
    assert shown > 0


@PROFILES
def test_the_schema_binds_what_is_scripted(profile: str) -> None:
    """In 0.30 under required, later for strict tools."""
    say = '<tool_call>\n{"name": "weather", "arguments": {"city": "Cádiz", "days": "x"}}\n</tool_call>'
    for strict in (None, True):
        fields = {"tools": [tool("weather", CITY, strict=strict)], "tool_choice": "required", "mock": {"say": say}}
        ((name, arguments),) = calls_of(whole(caller("hermes", profile), **fields))
        assert name == "weather"
        assert Draft202012Validator(CITY).is_valid(arguments) is (strict is True or profile == "0.30")


def test_levels_of_strictness() -> None:
    unknown = '<tool_call>\n{"name": "nope", "arguments": {}}\n</tool_call>'
    wrong = '<tool_call>\n{"name": "post", "arguments": {"zip": 5}}\n</tool_call>'
    expected = {None: ("nope", 5), "auto": ("nope", 5), "function": ("known", 5), "parameter": ("known", "valid")}
    for level, (name, zip_) in expected.items():
        serving = caller(tool_strict_level=level)
        called = calls_of(whole(serving, tools=TOOLS, mock={"say": unknown}))[0][0]
        assert ("nope" if called == "nope" else "known") == name
        arguments = calls_of(whole(serving, tools=TOOLS, mock={"say": wrong}))[0][1]
        assert (5 if arguments == {"zip": 5} else "valid") == zip_


def test_a_format_of_the_answer_beside_strict_tools() -> None:
    formats = {"response_format": {"type": "json_object"}, "tools": [tool("weather", CITY, strict=True)]}
    for said in ('{"a": 1}', "<tool_call>\n" + json.dumps({"name": "weather", "arguments": {"city": "ab", "days": 2}})):
        body = whole(caller(), mock={"say": said}, **formats)
        message = body["choices"][0]["message"]
        assert (
            message["content"] == said if said[0] == "{" else calls_of(body) == [("weather", {"city": "ab", "days": 2})]
        )


def test_a_grammar_is_made_once_for_all_choices() -> None:
    prepared = prepare(caller(), tools=TOOLS, tool_choice="required", n=2)
    assert len(prepared.choices) == 2
