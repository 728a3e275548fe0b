"""Structured outputs on /v1/chat/completions (and beside it): every answer is what the grammar asks for."""

import json
import re
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from chat_client import HOLA, prepare, refusal, stream, text_of, whole, words
from completion_client import completions
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from wire_harness import chat_serving, run

from mockvllm.answers.speaker import SENTENCE
from mockvllm.server.chat import ChatServing

ORDER = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "pattern": "^[A-Z][a-z]+$"},
        "days": {"type": "integer", "exclusiveMinimum": 0},
        "tags": {"type": "array", "items": {"enum": ["a", "b"]}, "minItems": 2},
        "next": {"anyOf": [{"$ref": "#"}, {"type": "null"}]},
    },
    "required": ["city", "days", "tags", "next"],
    "additionalProperties": False,
}
SERVING = words()


def schema(value: Any) -> dict[str, Any]:
    return {"type": "json_schema", "json_schema": {"name": "x", "schema": value}}


def content(body: dict[str, Any]) -> str:
    text: str = body["choices"][0]["message"]["content"]
    return text


@cache
def with_model(model: Path) -> ChatServing:
    return chat_serving("--tokenizer", str(model), "--hf-config-path", str(model))


@pytest.mark.parametrize("profile", ["0.30", "0.32", "0.33"])
def test_an_unscripted_answer_is_an_instance(profile: str, model: Path) -> None:
    for serving in (words(profile), with_model(model)):
        body = whole(serving, response_format=schema(ORDER))
        assert Draft202012Validator(ORDER).is_valid(json.loads(content(body)))
        assert body["choices"][0]["finish_reason"] == "stop"
        chunks = stream(serving, response_format=schema(ORDER))
        assert text_of(chunks) == content(body)


@pytest.mark.parametrize(
    ("params", "pattern"),
    [
        ({"json": json.dumps(ORDER)}, r"\{.*\}"),
        ({"json_object": True}, r"\{\}"),
        ({"choice": ["nunca", "siempre"]}, "nunca"),
        ({"regex": r"\d{3}-[xyz]"}, r"\d{3}-[xyz]"),
        ({"regex": r"[^0-9]+"}, re.escape(SENTENCE)),
        ({"grammar": 'root ::= "(" root ")" | "x"'}, r"\(*x\)*"),
        ({"structural_tag": json.dumps({"format": {"type": "const_string", "value": "q"}})}, "q"),
        ({"structural_tag": json.dumps({"format": {"type": "any_text"}})}, re.escape(SENTENCE)),
    ],
)
def test_every_kind_of_constraint(params: dict[str, Any], pattern: str, model: Path) -> None:
    for serving in (SERVING, with_model(model), words(answer="repeat")):
        body = whole(serving, structured_outputs=params)
        assert re.fullmatch(pattern, content(body)), content(body)
        assert body["choices"][0]["finish_reason"] == "stop"


@pytest.mark.parametrize(
    ("format", "say", "text"),
    [
        ({"type": "json_object"}, '{"a": [1, "dos"]}', '{"a": [1, "dos"]}'),
        ({"type": "json_object"}, "hola", "{}"),
        ({"type": "json_object"}, '{"a": 1', '{"a": 1}'),
        ({"type": "text"}, "hola", "hola"),
        (schema({"type": "object", "required": ["a"], "properties": {"a": {"const": 1}}}), "hola", '{"a": 1}'),
    ],
)
def test_what_is_scripted(format: dict[str, Any], say: str, text: str, model: Path) -> None:
    for serving in (SERVING, with_model(model)):
        body = whole(serving, response_format=format, mock={"say": say})
        assert content(body) == text
        assert text_of(stream(serving, response_format=format, mock={"say": say})) == text


def test_an_answer_may_be_cut() -> None:
    body = whole(SERVING, response_format=schema(ORDER), max_tokens=3)
    assert body["choices"][0]["finish_reason"] == "length"
    assert whole(SERVING, response_format=schema(ORDER))["choices"][0]["message"]["content"].startswith(content(body))


def test_stop_strings_still_stop() -> None:
    body = whole(SERVING, response_format={"type": "json_object"}, mock={"say": '{"a": "b c"}'}, stop=["b"])
    assert content(body) == '{"a": "'
    assert body["choices"][0]["stop_reason"] == "b"


def test_every_choice_keeps_to_it() -> None:
    body = whole(SERVING, structured_outputs={"choice": ["x", "y"]}, n=3)
    assert [choice["message"]["content"] for choice in body["choices"]] == ["x"] * 3


def test_log_probabilities_are_of_what_is_said() -> None:
    body = whole(SERVING, response_format=schema(ORDER), logprobs=True, top_logprobs=2)
    tokens = body["choices"][0]["logprobs"]["content"]
    assert "".join(token["token"] for token in tokens if token["token"] in content(body)) == content(body)


# --- what is refused ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "words_"),
    [
        ({"response_format": schema({"type": "entero"})}, "Grammar error: Invalid type: entero"),
        ({"structured_outputs": {"regex": "(a"}}, "Grammar error: at 1(8): invalid regex"),
        ({"structured_outputs": {"grammar": "root ::= ("}}, "Invalid grammar specification: Failed to convert"),
        ({"structured_outputs": {"json": "{"}}, "Expecting property name"),
        ({"structured_outputs": {"structural_tag": "{}"}}, "Invalid grammar specification: 'triggers'"),
    ],
)
def test_what_is_no_grammar_is_refused(fields: dict[str, Any], words_: str) -> None:
    assert refusal(SERVING, **fields).message.startswith(words_)
    prepared = prepare(SERVING, **fields, stream=True)
    assert prepared.failure is not None
    assert prepared.failure.status == 400
    assert prepared.failure.message.startswith(words_)


@pytest.mark.parametrize(("profile", "most"), [("0.30", 100), ("0.32", 64), ("0.33", 64)])
def test_schemas_nest_only_so_deep(profile: str, most: int) -> None:
    def nested(levels: int) -> Any:
        return {"items": nested(levels - 1)} if levels > 1 else {}

    serving = words(profile)
    assert content(whole(serving, structured_outputs={"json": nested(most)}))
    if profile != "0.30":
        error = refusal(serving, structured_outputs={"json": nested(65)})
        assert "nested too deeply: objects and arrays may nest at most 64 levels" in error.message


def test_without_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "llguidance", None)
    error = refusal(SERVING, response_format={"type": "json_object"})
    assert error.status == 501
    assert "llguidance" in error.message
    assert "mockvllm[structured]" in error.message
    assert content(whole(SERVING)) == SENTENCE


def test_whitespace_is_the_servers_and_the_requests_choice() -> None:
    wide = {"say": '{ "a":\n 1 }'}
    assert content(whole(SERVING, structured_outputs={"json": {"type": "object"}}, mock=wide)) == wide["say"]
    narrow = {"json": {"type": "object"}, "disable_any_whitespace": True}
    for serving, params in ((SERVING, narrow), (words(any_whitespace=False), {"json": {"type": "object"}})):
        assert "\n" not in content(whole(serving, structured_outputs=params, mock=wide))


def test_completions_keep_to_it_too() -> None:
    body = b'{"prompt": "hola", "response_format": {"type": "json_object"}}'
    prepared = completions().prepare(body, [(b"content-type", b"application/json")], 0.0)
    assert json.loads(run(prepared))["choices"][0]["text"] == "{}"


# --- anything -----------------------------------------------------------------------------------------------------

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-99, 99) | st.text('ab ñ"\\', max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("xyz", min_size=1), inner, max_size=3),
    max_leaves=6,
)


def described(value: Any) -> dict[str, Any]:
    """A schema that takes the value."""
    if isinstance(value, dict):
        members = {key: described(inner) for key, inner in value.items()}
        return {"type": "object", "properties": members, "required": list(members), "additionalProperties": False}
    if isinstance(value, list):
        return {"type": "array", "prefixItems": [*map(described, value)], "items": False, "minItems": len(value)}
    kinds = {bool: "boolean", int: "integer", str: "string", type(None): "null"}
    return {"type": kinds[type(value)]}


@given(VALUES, st.text(max_size=8), st.booleans())
@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_the_schema_and_the_script(value: Any, noise: str, streamed: bool) -> None:
    asked = {"response_format": schema({"type": "object", "properties": {"v": described(value)}, "required": ["v"]})}
    wanted = asked["response_format"]["json_schema"]["schema"]
    good = json.dumps({"v": value}, ensure_ascii=False)
    for say in (good, good[: len(good) // 2] + noise, noise):
        fields = asked | {"mock": {"say": say}} | {"messages": HOLA}
        text = text_of(stream(SERVING, **fields)) if streamed else content(whole(SERVING, **fields))
        assert Draft202012Validator(wanted).is_valid(json.loads(text)), (say, text)
        assert say != good or text == good


@pytest.mark.parametrize("number", ["7", "70", "-7", "0"])
def test_a_number_that_breaks_off_goes_on_with_what_must_follow(number: str) -> None:
    """However far off the end is: it does not go on for ever."""
    value = {"a": None, "b": [{"c": 79, "d": ""}], "e": {"f": False}}
    asked = {"response_format": schema({"type": "object", "properties": {"v": described(value)}, "required": ["v"]})}
    begun = f'{{"v": {{"a": null, "b": [{{"c": {number}'
    answer = content(whole(SERVING, **asked, mock={"say": begun}, messages=HOLA))
    assert answer.startswith(f"{begun},")
    assert len(answer) < 100
    assert json.loads(answer)["v"]["b"][0]["c"] == int(number)
