"""Structural tags: which texts they allow."""

import json
from typing import Any

import pytest

from mockvllm.answers.structured import constraint
from mockvllm.answers.structured_tag import as_format, tag, triggered_tags
from mockvllm.answers.structured_text import allows

Format = dict[str, Any]
NUMBER = {"type": "regex", "pattern": "[0-9]+"}
A = {"type": "const_string", "value": "<a>"}
F = tag("<f>", {"type": "integer"}, "</f>")
G = tag("<g>", {"type": "boolean"}, "</g>")
TRIGGERED = triggered_tags([F, G], ["<f", "<g"])
LEGACY = {"triggers": ["<f"], "structures": [{"begin": "<f>", "schema": {"type": "integer"}, "end": "</f>"}]}


def grammar(format: Format) -> str:
    return constraint("structural_tag", {"format": format}).grammar


@pytest.mark.parametrize(
    ("format", "good", "bad"),
    [
        (A, ["<a>"], ["", "<a>x", "<b>"]),
        (NUMBER, ["0", "17"], ["", "x", "1 "]),
        ({"type": "json_schema", "json_schema": {"type": "null"}}, ["null"], ["", "{}"]),
        ({"type": "json_schema", "json_schema": True}, ["null", '{"a": []}'], ["", "x"]),
        ({"type": "grammar", "grammar": 'root ::= "x" | "y" root'}, ["x", "yyx"], ["", "y"]),
        ({"type": "any_text"}, ["", "hola\n<a>"], []),
        ({"type": "any_text", "excludes": ["<think>", "*/"]}, ["", "a < b * /"], ["a <think>", "*/"]),
        ({"type": "sequence", "elements": [A, NUMBER]}, ["<a>1"], ["<a>", "1", "1<a>"]),
        ({"type": "or", "elements": [A, NUMBER]}, ["<a>", "1"], ["", "<a>1"]),
        ({"type": "optional", "content": A}, ["", "<a>"], ["<a><a>"]),
        ({"type": "plus", "content": A}, ["<a>", "<a><a>"], [""]),
        ({"type": "star", "content": A}, ["", "<a><a>"], ["<a"]),
        ({"type": "repeat", "content": A, "min": 1, "max": 2}, ["<a>", "<a><a>"], ["", "<a><a><a>"]),
        ({"type": "repeat", "content": A, "min": 2, "max": -1}, ["<a><a>", "<a><a><a>"], ["<a>"]),
        (F, ["<f>12</f>"], ["<f></f>", "<f>1", "x<f>1</f>", "<f>true</f>"]),
        ({**F, "end": ["</f>", "."]}, ["<f>1</f>", "<f>1."], ["<f>1"]),
        ({"type": "tag", "begin": "(", "content": {"type": "any_text"}, "end": ")"}, ["()", "(a(b)"], ["(a))", "(a"]),
    ],
)
def test_formats(format: Format, good: list[str], bad: list[str]) -> None:
    allowed = [text for text in (*good, *bad) if allows(grammar(format), text)]
    assert allowed == good


@pytest.mark.parametrize(
    ("options", "good", "bad"),
    [
        ({}, ["", "hola", "a<f>1</f>b<g>true</g>", "a < f"], ["a<f>x</f>", "<f>1", "a<fx", "<g>1</g>"]),
        ({"at_least_one": True}, ["<f>1</f>", "<f>1</f>a<g>true</g>b"], ["", "hola", "a<f>1</f>"]),
        ({"stop_after_first": True}, ["", "hola", "a<f>1</f>"], ["a<f>1</f>b", "<f>1</f><f>2</f>"]),
        ({"at_least_one": True, "stop_after_first": True}, ["<g>false</g>"], ["", "<f>1</f><f>2</f>", "<f>1</f>a"]),
        ({"excludes": ["no"]}, ["sí", "sí<f>1</f>sí"], ["no", "<f>1</f>no", "a no <f>1</f>"]),
    ],
)
def test_tags_behind_triggers(options: Format, good: list[str], bad: list[str]) -> None:
    written = grammar({**TRIGGERED, **options})
    allowed = [text for text in (*good, *bad) if allows(written, text)]
    assert allowed == good


@pytest.mark.parametrize(
    ("options", "good", "bad"),
    [
        ({}, ["", "<f>1</f>", "<f>1</f>, <g>true</g>"], ["<f>1</f><g>true</g>", "<f>1</f>, ", "x"]),
        ({"at_least_one": True}, ["<f>1</f>, <f>2</f>"], [""]),
        ({"stop_after_first": True}, ["", "<f>1</f>"], ["<f>1</f>, <f>2</f>"]),
    ],
)
def test_tags_in_a_row(options: Format, good: list[str], bad: list[str]) -> None:
    written = grammar({"type": "tags_with_separator", "tags": [F, G], "separator": ", ", **options})
    allowed = [text for text in (*good, *bad) if allows(written, text)]
    assert allowed == good


def test_the_older_form() -> None:
    written = constraint("structural_tag", json.dumps(LEGACY)).grammar
    assert allows(written, "hola <f>5</f>.")
    assert not allows(written, "hola <f>x</f>.")


@pytest.mark.parametrize(
    ("kind", "value", "good", "bad"),
    [
        ("choice", ["a", "b"], "b", "c"),
        ("regex", "a+", "aa", "b"),
        ("grammar", 'root ::= "a"', "a", "b"),
        ("json", {"type": "null"}, "null", "1"),
        ("json", '{"type": "null"}', "null", "1"),
        ("json_object", True, "{}", "[]"),
        ("structural_tag", json.dumps({"format": A}), "<a>", "x"),
        ("structural_tag", json.dumps(LEGACY), "x<f>1</f>", "<f>x"),
    ],
)
def test_other_constraints_as_a_part(kind: str, value: Any, good: str, bad: str) -> None:
    written = grammar({"type": "or", "elements": [A, as_format(kind, value)]})
    assert allows(written, good)
    assert allows(written, "<a>")
    assert not allows(written, bad)


@pytest.mark.parametrize(
    ("format", "words"),
    [
        ({"type": "token", "token": 1}, "a format of type 'token' is not modelled here"),
        ({"type": "const_string"}, "'value'"),
        ({"type": "json_schema", "json_schema": {}, "style": "qwen_xml"}, "the style 'qwen_xml'"),
        (triggered_tags([F], ["<g"]), "Trigger <f> not found in triggers"),
    ],
)
def test_what_is_no_format(format: Format, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        grammar(format)
