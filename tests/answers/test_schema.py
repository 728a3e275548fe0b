"""Instances of JSON schemas: valid, small, always the same; found wherever there is one."""

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema.validators import Draft4Validator, Draft7Validator, Draft202012Validator

from mockvllm.answers.schema import UnsatisfiableError, instance, instance_text

Schema = dict[str, Any]


def is_valid(schema: object, value: Any) -> bool:
    return bool(Draft202012Validator(schema).is_valid(value))


@pytest.mark.parametrize(
    ("schema", "smallest"),
    [
        ({"type": "object"}, {}),
        ({"type": "object", "properties": {"a": {"type": "string"}, "b": {}}, "required": ["a"]}, {"a": "a"}),
        ({"properties": {"a": {"type": "null"}}, "required": ["a"]}, {"a": None}),
        ({"type": "integer", "minimum": 3}, 3),
        ({"type": "integer", "maximum": -3}, -3),
        ({"type": "integer", "minimum": -3}, 0),
        ({"type": "integer", "exclusiveMinimum": 3, "multipleOf": 5}, 5),
        ({"type": "integer", "minimum": -10, "maximum": -5, "multipleOf": 4}, -8),
        ({"type": "integer", "multipleOf": 1.5, "minimum": 1}, 3),
        ({"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}, 0.5),
        ({"type": "number", "multipleOf": 0.25, "minimum": 0.3, "maximum": 0.6}, 0.5),
        ({"type": "string"}, "a"),
        ({"type": "string", "maxLength": 0}, ""),
        ({"type": "string", "minLength": 4}, "aaaa"),
        ({"type": "boolean"}, False),
        ({"type": "boolean", "not": {"const": False}}, True),
        ({"type": ["null", "string"]}, None),
        ({"type": "array"}, []),
        ({"type": "array", "items": {"type": "integer"}, "minItems": 3, "uniqueItems": True}, [0, 1, 2]),
        ({"type": "array", "prefixItems": [{"const": 1}], "items": {"const": 2}, "minItems": 3}, [1, 2, 2]),
        ({"type": "array", "contains": {"const": 7}, "minContains": 2}, [7, 7]),
        ({"const": {"a": [1]}}, {"a": [1]}),
        ({"enum": ["x", "y"]}, "x"),
        ({"enum": [1, 2, 3], "minimum": 2}, 2),
        ({"allOf": [{"type": "number", "minimum": 5}, {"type": "integer", "maximum": 6}]}, 5),
        ({"oneOf": [{"type": "integer"}, {"type": "integer", "minimum": 0}]}, -1),
        ({"not": {"type": "string"}}, {}),
        ({"type": "object", "minProperties": 2, "properties": {"a": {"const": 1}}}, {"a": 1, "b": "a"}),
        ({"required": ["a"], "dependentRequired": {"a": ["b"], "b": ["c"]}}, {"a": "a", "b": "a", "c": "a"}),
        ({"required": ["a"], "dependentSchemas": {"a": {"required": ["b"]}}}, {"a": "a", "b": "a"}),
        ({"if": {"type": "string"}, "then": {"minLength": 3}, "type": "string"}, "aaa"),
        ({"$ref": "#/$defs/a%20b~1c", "$defs": {"a b/c": {"const": 5}}}, 5),
        ({"$ref": "#here", "$defs": {"x": {"$anchor": "here", "const": 6}}}, 6),
        (True, "a"),
    ],
)  # fmt: skip
def test_the_smallest(schema: object, smallest: Any) -> None:
    found = instance(schema)
    assert (found, type(found)) == (smallest, type(smallest))
    assert is_valid(schema, found)


RECURSIVE: Schema = {
    "$ref": "#/$defs/node",
    "$defs": {
        "node": {
            "type": "object",
            "required": ["value", "next"],
            "properties": {
                "value": {"type": "integer"},
                "next": {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]},
            },
        }
    },
}


@pytest.mark.parametrize(
    "schema",
    [
        RECURSIVE,
        {"type": "string", "pattern": "^[A-Z]{2}-\\d+$", "minLength": 6},
        {"type": "string", "allOf": [{"pattern": "a"}, {"pattern": "b$"}], "minLength": 5},
        {"type": "string", "format": "date-time"},
        {"patternProperties": {"^x": {"type": "integer"}}, "additionalProperties": False, "minProperties": 2},
        {"type": "object", "propertyNames": {"pattern": "^[a-c]+$"}, "minProperties": 3},
        {"type": "array", "items": {"enum": [1, 2, 3]}, "uniqueItems": True, "minItems": 3},
        {"type": "array", "items": {"type": "boolean"}, "uniqueItems": True, "minItems": 2},
        {"type": "object", "properties": {"a": {}}, "required": ["b"], "additionalProperties": {"minLength": 2}},
        {"oneOf": [{"required": ["a"]}, {"required": ["b"]}], "type": "object", "properties": {"a": {}, "b": {}}},
        {"anyOf": [{"type": "string", "minLength": 3, "maxLength": 2}, {"type": "integer", "minimum": 7}]},
        {"type": "object", "not": {"required": ["a"]}, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
        {"type": "number", "minimum": 1.5, "maximum": 1.7},
        {"type": "array", "contains": {"type": "integer", "minimum": 5}, "items": {"type": "integer", "maximum": 6}},
    ],
)  # fmt: skip
def test_what_is_found_is_valid(schema: Schema) -> None:
    assert is_valid(schema, instance(schema))
    assert instance(schema) == instance(json.loads(json.dumps(schema)))


def test_older_drafts() -> None:
    draft4: Schema = {"$schema": "http://json-schema.org/draft-04/schema#", "type": "integer", "minimum": 4}
    assert instance(draft4 | {"exclusiveMinimum": True}) == 5
    draft7 = {"$schema": "http://json-schema.org/draft-07/schema#", "type": "array", "minItems": 3}
    draft7 |= {"items": [{"type": "string"}, {"type": "null"}], "additionalItems": {"const": 4}}
    assert instance(draft7) == ["a", None, 4]
    dependencies = {"required": ["a"], "dependencies": {"a": ["b"]}, "$schema": draft7["$schema"]}
    assert Draft7Validator(dependencies).is_valid(instance(dependencies))
    assert Draft4Validator(draft4).is_valid(instance(draft4))


@pytest.mark.parametrize(
    "schema",
    [
        False,
        {"type": "object", "required": ["x"], "properties": {"x": False}},
        {"type": "string", "const": 5},
        {"allOf": [{"type": "string"}, {"type": "integer"}]},
        {"$ref": "#"},
        {"$ref": "#/nowhere"},
        {"type": "string", "minLength": 10**12},
        {"type": "array", "minItems": 10**12},
        {"type": "array", "contains": {}, "minContains": 10**12},
        {"type": "object", "minProperties": 10**12},
        {"type": "object", "required": ["a"], "properties": {"a": {"$ref": "#"}}},
        {"minimum": 5, "maximum": 3, "type": "integer"},
        {"type": "array", "items": {"type": "boolean"}, "uniqueItems": True, "minItems": 3},
    ],
)
def test_what_cannot_be_is_told(schema: object) -> None:
    with pytest.raises(UnsatisfiableError, match="no instance was found of the schema"):
        instance(schema)


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "file"}, "a"),
        ({"type": "object", "properties": {"a": {"type": "string", "required": True}}, "required": ["a"]}, {"a": "a"}),
        ({"type": "object", "properties": 5, "required": "a"}, {}),
        ({"type": "integer", "minimum": "3", "maximum": -2}, -2),
        ({"type": ["x", "null"], "enum": [7]}, 7),
        ({"anyOf": [5, {"const": 1}, "x"]}, 1),
        ({"type": "string", "minLength": 2.0}, "aa"),
        ({"type": "string", "pattern": "("}, "a"),
        ({"$ref": 5, "enum": "x", "type": "boolean"}, False),
    ],
)
def test_mistakes_say_nothing(schema: object, value: Any) -> None:
    assert json.loads(instance_text(json.dumps(schema))) == value


VALUES = st.sampled_from([5, -1, 1.5, "x", "(", None, True, [], {}, [1], ["a"], {"a": 5}, [{}], 10**12])
KEYS = """
    $defs $id $ref $anchor additionalProperties allOf anyOf const contains dependentRequired dependentSchemas else enum
    exclusiveMinimum format if items maxItems maximum minContains minItems minLength minProperties minimum multipleOf
    not oneOf pattern patternProperties prefixItems properties propertyNames required then type uniqueItems
""".split()  # noqa: SIM905
TYPES = st.sampled_from(["object", "array", "string", "number"])
LEADS_NOWHERE = {"$ref", "pattern", "patternProperties"}


@given(st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=4), TYPES)
@settings(deadline=None)
def test_whatever_is_sent_there_is_an_instance_or_none(schema: Schema, type_: str) -> None:
    for sent in (schema, {"properties": {"a": {"type": type_, **schema}}, "required": ["a"]}):
        with suppress(UnsatisfiableError):
            value = json.loads(instance_text(json.dumps(sent)))
            if is_valid(Draft202012Validator.META_SCHEMA, sent) and LEADS_NOWHERE.isdisjoint(schema):
                assert is_valid(sent, value)


def test_texts() -> None:
    assert instance_text('{"type": "object", "required": ["ñ"]}') == '{"ñ": "a"}'


# --- a schema is made for a value, so that there is an instance -------------------------------------------------------

NAMES = st.text(st.sampled_from("abñ_"), min_size=1, max_size=3)
SCALARS = st.integers(-50, 50) | st.sampled_from([0.5, -1.25, 2.75]) | st.text(st.sampled_from("xyzñ 1"), max_size=4)
VALUES = st.recursive(
    st.none() | st.booleans() | SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=5,
)


@st.composite
def allowing(draw: st.DrawFn, value: Any) -> Schema:
    """A schema that allows `value`, and perhaps much else."""
    schema = draw(_direct(value))
    wrap = draw(st.sampled_from(["no", "no", "no", "anyOf", "allOf", "oneOf", "not", "if"]))
    if wrap == "anyOf":
        return {"anyOf": [{"type": "string", "enum": []}, schema]}
    if wrap == "allOf":
        return {"allOf": [schema, draw(_direct(value))]}
    if wrap == "oneOf":
        return {"oneOf": [schema, {"allOf": [schema, {"not": {"const": value}}, {"const": value}]}]}
    if wrap == "not":
        return {**schema, "not": {"const": "\0"}}
    return {"if": {"const": "\0"}, "else": schema} if wrap == "if" else schema


@st.composite
def _direct(draw: st.DrawFn, value: Any) -> Schema:
    if draw(st.integers(0, 9)) == 0:
        return draw(st.sampled_from([{"const": value}, {"enum": ["\0", value]}]))
    return {**draw(_MAKERS[type(value)](value)), **draw(st.sampled_from([{}, {"title": "t"}, {"description": "d"}]))}


@st.composite
def _number(draw: st.DrawFn, value: float) -> Schema:
    schema: Schema = {"type": "integer" if isinstance(value, int) and draw(st.booleans()) else "number"}
    if draw(st.booleans()):
        schema["minimum"] = value - draw(st.integers(0, 3))
    if draw(st.booleans()):
        schema["exclusiveMaximum"] = value + draw(st.sampled_from([0.5, 1, 3]))
    if draw(st.booleans()):
        schema["multipleOf"] = draw(st.sampled_from([0.25, abs(value) or 1]))
    return schema


@st.composite
def _string(draw: st.DrawFn, value: str) -> Schema:
    schema: Schema = {"type": "string"}
    if draw(st.booleans()):
        schema["minLength"] = max(0, len(value) - draw(st.integers(0, 2)))
    if draw(st.booleans()):
        schema["maxLength"] = len(value) + draw(st.integers(0, 2))
    if draw(st.booleans()):
        schema["pattern"] = draw(st.sampled_from([value[:1], f"^{value}$", f"^[xyzñ 1]{{{len(value)},}}$"]))
    return schema


@st.composite
def _array(draw: st.DrawFn, value: list[Any]) -> Schema:
    schema: Schema = {"type": "array", "minItems": len(value)}
    if draw(st.booleans()):
        schema["prefixItems"] = [draw(allowing(item)) for item in value]
    elif len(value) == 1:
        schema["items"] = draw(allowing(value[0]))
    if value and draw(st.booleans()):
        schema["contains"] = draw(allowing(value[-1]))
    return schema


@st.composite
def _object(draw: st.DrawFn, value: dict[str, Any]) -> Schema:
    schema: Schema = {"type": "object", "properties": {name: draw(allowing(item)) for name, item in value.items()}}
    schema["required"] = draw(st.lists(st.sampled_from(sorted(value)), unique=True)) if value else []
    if draw(st.booleans()):
        schema["additionalProperties"] = False
    if draw(st.booleans()):
        schema["minProperties"] = len(value)
    return schema


_MAKERS: dict[type, Any] = {
    type(None): lambda value: st.just({"type": "null"}),
    bool: lambda value: st.just({"type": "boolean"}),
    int: _number,
    float: _number,
    str: _string,
    list: _array,
    dict: _object,
}


@settings(deadline=None, max_examples=150)
@given(st.data())
def test_a_schema_that_allows_something_has_an_instance(data: st.DataObject) -> None:
    value = data.draw(VALUES)
    schema = data.draw(allowing(value))
    assert is_valid(schema, value)
    assert is_valid(schema, instance(schema))
