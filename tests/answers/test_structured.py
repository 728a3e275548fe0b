"""What constrains an answer: which grammars vLLM takes, its words for the others, and what is said by ourselves."""

import json
import re
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from mockvllm.answers.structured import Constraint, constraint, default_text, string_like
from mockvllm.answers.structured_text import allows, constrain


def said(kind: str, value: Any, script: str = "hola", limit: int = 200) -> str:
    """What becomes of a script that is said character by character."""
    return constrain(constraint(kind, value).grammar, [*script], limit).text


@pytest.mark.parametrize(
    ("kind", "value", "words"),
    [
        ("json", {"type": "entero"}, "Grammar error: Invalid type: entero"),
        ("json", {"$ref": "#/definitions/x"}, "Grammar error: Pointer '/definitions/x' does not exist"),
        ("json", '{"type": ["integer", "x"]}', "Grammar error: Invalid type: x"),
        ("json", {"type": "array", "uniqueItems": True}, 'Grammar error: Unimplemented keys: ["uniqueItems"]'),
        ("json", {"anyOf": [{"type": "string", "format": "tel"}]}, "Grammar error: Unknown format: tel"),
        ("json", False, "Invalid grammar specification: "),
        ("regex", "[a", "Grammar error: at 1(8): invalid regex "),
        ("regex", "a(?=b)", "Grammar error: at 1(8): invalid regex "),
        ("grammar", 'root ::= "a', "Invalid grammar specification: Failed to convert the grammar from GBNF to Lark"),
        ("grammar", 'start: "a" b', "Grammar error: at 1(8): unknown name: "),
        ("structural_tag", "{}", "Invalid grammar specification: 'triggers'"),
        ("structural_tag", {"triggers": ["<"], "structures": []}, "Invalid grammar specification: No structural tags"),
        ("structural_tag", {"format": {"type": "x"}}, "Invalid grammar specification: a format of type 'x'"),
    ],
)
def test_what_is_no_grammar(kind: str, value: Any, words: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(words)}"):
        constraint(kind, value)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"a": {"type": "integer", "ui:widget": "x"}}, "x-order": [1]},
        {"type": "object", "not": {"required": ["b"]}},
        {"type": "string", "pattern": "^(?!x)[a-z]+$"},
        {"type": "string", "format": "uri-template"},
        {"uniqueItems": True},
        {"type": "integer", "multipleOf": 3},
        {"type": "object", "patternProperties": {"^a": {"type": "integer"}}},
        {},
    ],
)
def test_what_the_first_backend_does_not_know_it_ignores(schema: Any) -> None:
    wanted = constraint("json", schema)
    text = default_text(wanted, 100)
    assert allows(wanted.grammar, text)
    assert Draft202012Validator(schema).is_valid(json.loads(text))


def test_schemas_and_tags_may_be_texts() -> None:
    schema = {"type": "object", "properties": {"a": {"const": 1}}}
    assert constraint("json", json.dumps(schema)) == constraint("json", schema)
    with pytest.raises(ValueError, match="Expecting"):
        constraint("json", "{")


def test_whitespace() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    wide, narrow = (constraint("json", schema, any_whitespace=any_).grammar for any_ in (True, False))
    assert allows(wide, '{ "a":\n  1 }')
    assert not allows(narrow, '{ "a":\n  1 }')
    assert allows(narrow, '{"a": 1}') or allows(narrow, '{"a":1}')


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        ("choice", ["sí", "no"], "sí"),
        ("choice", ['a "b"\n', "c"], 'a "b"\n'),
        ("json_object", True, "{}"),
        ("json", {"type": "object", "required": ["n"], "properties": {"n": {"minimum": 3}}}, '{"n": 3}'),
        ("regex", "[0-9]{3}", "000"),
        ("regex", r"[a-z]+(-[a-z]+){4}\.[a-z]{3}", "a-a-a-a-a.aaa"),
        ("regex", ".*", ""),
        ("grammar", 'root ::= "a" ("b" | "ccc") root2\nroot2 ::= "!"', "ab!"),
        ("grammar", 'start: NAME "=" /[0-9]+/\nNAME: /[a-z]{2,}/', "aa=0"),
        ("structural_tag", {"triggers": ["<"], "structures": [{"begin": "<", "schema": {}, "end": ">"}]}, ""),
    ],
)
def test_what_is_said_by_itself(kind: str, value: Any, text: str) -> None:
    wanted = constraint(kind, value)
    assert default_text(wanted, 100) == text
    assert allows(wanted.grammar, text)


@pytest.mark.parametrize(
    ("kind", "value", "script", "text"),
    [
        ("json", {"type": "object"}, '{"a": [1, 2]}', '{"a": [1, 2]}'),
        ("json", {"type": "object", "required": ["a"], "properties": {"a": {"const": 5}}}, '{"a": 6}', '{"a": 5}'),
        ("json", {"type": "array", "minItems": 2, "items": {"type": "boolean"}}, "[true]", "[true,true]"),
        ("json", {"type": "string", "maxLength": 3}, '"hola"', '"hol"'),
        ("choice", ["sí", "no"], "no", "no"),
        ("choice", ["sí", "no"], "quizá no", "no"),
        ("regex", "[0-9]{3}", "12", "120"),
        ("regex", "[0-9]{3}", "1234", "123"),
        ("regex", "[a-z ]*[.]", "hola", "hola."),
        ("regex", "(año|mes)", "aÑo", "año"),
        ("json", {"type": "object", "additionalProperties": {"type": "string"}}, '{"a": "b', '{"a": "b"}'),
    ],
)
def test_a_script_as_far_as_it_is_allowed(kind: str, value: Any, script: str, text: str) -> None:
    found = said(kind, value, script)
    assert allows(constraint(kind, value).grammar, found)
    assert found == text


@pytest.mark.parametrize("script", ['{"a": 1, "b": "x"}', '{"b"', "hola", '[{"a": 1}]', "", '{"a": tru', "{" * 50])
@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object"},
        {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "string"}}, "required": ["a", "b"]},
        {"type": "array", "items": {"enum": ["x", 1, None]}, "minItems": 1, "maxItems": 3},
        {"anyOf": [{"type": "number"}, {"type": "object", "additionalProperties": {"type": "boolean"}}]},
        {
            "$ref": "#/$defs/n",
            "$defs": {"n": {"properties": {"n": {"anyOf": [{"$ref": "#/$defs/n"}, {"type": "null"}]}}}},
        },
    ],
)
def test_whatever_is_scripted_the_answer_is_valid(schema: dict[str, Any], script: str) -> None:
    text = said("json", schema, script)
    assert Draft202012Validator(schema).is_valid(json.loads(text)), text


@settings(deadline=None)
@given(st.text(max_size=20), st.integers(0, 12))
def test_a_cut_answer_may_be_gone_on_with(script: str, limit: int) -> None:
    grammar = constraint("json", {"type": "object", "required": ["aaaa"]}).grammar
    text, ended = constrain(grammar, [*script], limit)
    assert ended == allows(grammar, text)
    rest = constrain(grammar, [text], 100)
    assert rest.ended
    assert rest.text.startswith(text)


def test_strings_with_several_patterns() -> None:
    wanted = {"pattern": ("^[a-f]+$", "^.{4}$", "f"), "maxLength": 4}
    (text,) = string_like(wanted)
    assert re.fullmatch("[a-f]{4}", text)
    assert "f" in text
    assert not [*string_like({"pattern": ("^a$", "^b$")})]


@pytest.mark.parametrize("kind", ["json", "regex", "choice", "grammar", "structural_tag", "json_object"])
def test_without_the_engine(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    monkeypatch.setitem(sys.modules, "llguidance", None)
    value = {"json": {}, "choice": ["a"], "structural_tag": {"format": {"type": "regex", "pattern": "a"}}}
    with pytest.raises(ImportError):
        constraint(kind, value.get(kind, "a"))


def test_the_kind_and_the_value_are_kept() -> None:
    wanted = constraint("json", '{"type": "null"}')
    assert isinstance(wanted, Constraint)
    assert (wanted.kind, wanted.value, wanted.behind) == ("json", {"type": "null"}, "")


MEMBERS = st.sampled_from(
    """
    type value json_schema excludes grammar pattern elements begin content end triggers tags
    const_string any_text regex sequence or tag triggered_tags plus
    """.split()  # noqa: SIM905
)
ODD = st.sampled_from([5, -1, 1e308, "x", "<", "(", None, True, [], {}, [1], {"type": 5}, {"format": []}])


@settings(deadline=None)
@given(
    st.recursive(
        ODD, lambda inner: st.dictionaries(MEMBERS, MEMBERS | inner | st.lists(inner, max_size=2)), max_leaves=8
    )
)
def test_whatever_is_sent_is_a_grammar_or_is_refused(value: Any) -> None:
    for kind, sent in (("json", value), ("structural_tag", value), ("structural_tag", {"format": value})):
        try:
            wanted = constraint(kind, sent)
        except ValueError:
            continue
        text = default_text(wanted, 50)
        assert constrain(wanted.grammar, [text], 0).text == text
