"""Reasoning on /v1/chat/completions: where it is shown, what it counts, what comes behind it."""

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from chat_client import HOLA, refusal, stream, whole, words
from wire_harness import chat_serving

from mockvllm.answers.speaker import SENTENCE
from mockvllm.server.chat import ChatServing

PROFILES = pytest.mark.parametrize("profile", ["0.30", "0.32", "0.33"])
PARSERS = pytest.mark.parametrize("parser", ["deepseek_r1", "qwen3"])
THOUGHT = {"say": "<think> uno dos tres </think> Hola, mundo."}
INTEGER = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": False}
TOOLS = [{"type": "function", "function": {"name": "f", "parameters": INTEGER, "strict": True}}]


@cache
def thinker(parser: str = "qwen3", profile: str = "0.33", **options: Any) -> ChatServing:
    return words(profile, reasoning_parser=parser, **options)


def message(body: dict[str, Any]) -> tuple[str | None, str | None]:
    """Reasoning and content of a whole answer."""
    said = body["choices"][0]["message"]
    return said["reasoning"], said["content"]


def streamed(chunks: Sequence[Any]) -> tuple[str, str]:
    deltas = [chunk["choices"][0]["delta"] for chunk in chunks if chunk != "[DONE]" and chunk["choices"]]
    return tuple("".join(delta.get(key) or "" for delta in deltas) for key in ("reasoning", "content"))  # type: ignore[return-value]


@PROFILES
@PARSERS
@pytest.mark.parametrize("interval", [1, 2, 50])
def test_what_is_thought_is_shown_apart(parser: str, profile: str, interval: int) -> None:
    serving = thinker(parser, profile, stream_interval=interval)
    reasoning, content = message(whole(serving, mock=THOUGHT))
    assert (reasoning, content) == (" uno dos tres ", " Hola, mundo.")
    assert streamed(stream(serving, mock=THOUGHT)) == (reasoning, content)


@pytest.mark.parametrize(
    ("parser", "fields", "thinks"),
    [
        ("deepseek_v3", {}, False),
        ("deepseek_v31", {"chat_template_kwargs": {"thinking": True}}, True),
        ("deepseek_v3", {"chat_template_kwargs": {"thinking": False, "enable_thinking": True}}, True),
        ("deepseek_v4", {"chat_template_kwargs": {"thinking": None}}, False),
        ("deepseek_v3", {"reasoning_effort": "high"}, True),
        ("deepseek_v3", {"reasoning_effort": "none"}, False),
        ("holo2", {}, True),
        ("holo2", {"chat_template_kwargs": {"enable_thinking": False}}, False),
        ("kimi_k2", {"chat_template_kwargs": {"enable_thinking": False}}, True),
        ("kimi_k2", {"chat_template_kwargs": {"thinking": False}}, False),
    ],
)
def test_some_think_only_if_the_template_is_told_so(parser: str, fields: dict[str, Any], thinks: bool) -> None:
    """Else all that is said is content, tags included, and no token counts as reasoning."""
    serving = thinker(parser)
    body = whole(serving, mock=THOUGHT, **fields)
    expected = (" uno dos tres ", " Hola, mundo.") if thinks else (None, THOUGHT["say"])
    assert message(body) == expected
    assert streamed(stream(serving, mock=THOUGHT, **fields)) == (expected[0] or "", expected[1])
    counted = body["usage"]["completion_tokens_details"]["reasoning_tokens"]
    assert (counted > 0) == thinks
    if "reasoning_effort" not in fields:
        variables = fields.get("chat_template_kwargs", {})
        told_once = words(reasoning_parser=parser, default_chat_template_kwargs=variables)
        assert message(whole(told_once, mock=THOUGHT)) == expected


@PARSERS
def test_what_never_ends_is_all_reasoning(parser: str) -> None:
    for said in ({"say": "<think> uno dos"}, {"say": " uno dos"}):
        body = whole(thinker(parser), mock=said)
        assert message(body) == (" uno dos", None)
        assert body["choices"][0]["finish_reason"] == "stop"
        assert streamed(stream(thinker(parser), mock=said)) == (" uno dos", "")


@PARSERS
def test_who_says_nothing_of_it_has_only_thought(parser: str) -> None:
    """A model that reasons and never ends to: what the recorded ones do too."""
    assert message(whole(thinker(parser))) == (SENTENCE, None)


def test_thinking_may_be_switched_off() -> None:
    off = {"chat_template_kwargs": {"enable_thinking": False}}
    assert message(whole(thinker("qwen3"), **off)) == (None, SENTENCE)
    assert message(whole(thinker("deepseek_r1"), **off)) == (SENTENCE, None)
    never = words(reasoning_parser="qwen3", default_chat_template_kwargs={"enable_thinking": False})
    assert message(whole(never)) == (None, SENTENCE)
    assert message(whole(never, chat_template_kwargs={"enable_thinking": True})) == (SENTENCE, None)
    assert streamed(stream(thinker("qwen3"), **off)) == ("", SENTENCE)


@PROFILES
@PARSERS
def test_without_reasoning(parser: str, profile: str) -> None:
    serving, hidden = thinker(parser, profile), {"mock": THOUGHT, "include_reasoning": False}
    assert message(whole(serving, **hidden)) == (None, " Hola, mundo.")
    chunks = stream(serving, **hidden)
    assert streamed(chunks) == ("", " Hola, mundo.")
    usual = stream(serving, mock=THOUGHT)
    assert len(chunks) < len(usual)


@PROFILES
@PARSERS
def test_tokens_of_reasoning_are_counted(parser: str, profile: str) -> None:
    serving = thinker(parser, profile)
    body = whole(serving, mock=THOUGHT)
    counted = body["usage"]["completion_tokens_details"]["reasoning_tokens"]
    assert 3 <= counted < body["usage"]["completion_tokens"] - 2
    assert message(body)[0].count(" ") == 4
    chunks = stream(serving, mock=THOUGHT, stream_options={"include_usage": True, "continuous_usage_stats": True})
    counts = [chunk["usage"]["completion_tokens_details"]["reasoning_tokens"] for chunk in chunks[1:-1]]
    assert counts == sorted(counts)
    assert counts[-1] == counted
    every = whole(serving, mock=THOUGHT, n=3)["usage"]["completion_tokens_details"]
    assert every == {"reasoning_tokens": 3 * counted}


def test_reasoning_without_its_opening_tag_counts_only_with_qwen3() -> None:
    said = {"say": "uno dos </think> tres"}
    counts = {
        name: whole(thinker(name), mock=said)["usage"]["completion_tokens_details"] for name in ("qwen3", "deepseek_r1")
    }
    assert counts["deepseek_r1"] == {"reasoning_tokens": 0}
    assert counts["qwen3"]["reasoning_tokens"] > 0


@PARSERS
def test_a_server_without_a_parser_shows_the_tags(parser: str) -> None:
    assert message(whole(words(), mock=THOUGHT)) == (None, THOUGHT["say"])


def test_a_thinking_budget_needs_a_parser() -> None:
    assert "thinking_token_budget" in refusal_in_engine(words())
    assert message(whole(thinker(), mock=THOUGHT, thinking_token_budget=5))[1] == " Hola, mundo."


def refusal_in_engine(serving: ChatServing) -> str:
    return refusal(serving, thinking_token_budget=5).message


# --- behind the reasoning -----------------------------------------------------------------------------------------


@PARSERS
@pytest.mark.parametrize("interval", [1, 4])
def test_a_grammar_holds_behind_the_reasoning(parser: str, interval: int) -> None:
    serving = thinker(parser, stream_interval=interval)
    schema = {"type": "json_schema", "json_schema": {"name": "n", "schema": INTEGER}}
    said = {"say": '<think> no es {"JSON"] </think>{"n": "x"}'}
    reasoning, content = message(whole(serving, mock=said, response_format=schema))
    assert reasoning == ' no es {"JSON"] '
    assert list(json.loads(content or "")) == ["n"]
    assert isinstance(json.loads(content or "")["n"], int)
    assert streamed(stream(serving, mock=said, response_format=schema)) == (reasoning, content)


@PARSERS
def test_an_unscripted_answer_thinks_before_what_it_must_say(parser: str) -> None:
    schema = {"type": "json_schema", "json_schema": {"name": "n", "schema": INTEGER}}
    assert message(whole(thinker(parser), response_format=schema)) == (SENTENCE, '{"n": 0}')
    assert message(whole(thinker(parser), structured_outputs={"choice": ["sí", "no"]})) == (SENTENCE, "sí")


def test_where_nobody_thinks_the_grammar_holds_at_once() -> None:
    off = {"chat_template_kwargs": {"enable_thinking": False}}
    fields = {"structured_outputs": {"choice": ["sí", "no"]}, **off}
    assert message(whole(thinker("qwen3"), **fields)) == (None, "sí")
    assert message(whole(thinker("qwen3"), mock={"say": "no"}, **fields)) == (None, "no")


@PARSERS
@pytest.mark.parametrize("choice", ["auto", "required", {"type": "function", "function": {"name": "f"}}])
def test_a_call_behind_the_reasoning(parser: str, choice: Any) -> None:
    serving = thinker(parser, tool_call_parser="hermes")
    body = whole(serving, tools=TOOLS, tool_choice=choice)
    said = body["choices"][0]["message"]
    assert said["reasoning"] == SENTENCE
    assert [json.loads(call["function"]["arguments"]) for call in said["tool_calls"]] == [{"n": 0}]
    assert streamed(stream(serving, tools=TOOLS, tool_choice=choice))[0] == SENTENCE


def test_with_a_tokenizer_of_a_model(model: Path) -> None:
    flags = ["--tokenizer", str(model), "--hf-config-path", str(model), "--reasoning-parser", "qwen3"]
    serving = chat_serving(*flags)
    schema = {"type": "json_schema", "json_schema": {"name": "n", "schema": INTEGER}}
    body = whole(serving, response_format=schema)
    assert message(body) == (SENTENCE, '{"n": 0}')
    thought = whole(serving, messages=[*HOLA], mock={"say": "<think>uno</think>dos"})
    assert message(thought) == ("uno", "dos")
    assert thought["usage"]["completion_tokens_details"]["reasoning_tokens"] > 0
