"""Two JSON schemas without references and combinations as one that says all that both say."""

import re
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from math import gcd
from typing import Any

Schema = dict[str, Any]


class ContradictionError(Exception):
    """Two schemas that no value satisfies both."""


def merge(one: Schema, other: Schema) -> Schema:
    """What satisfies both. Raises ContradictionError where that is plain to see."""
    length = max(len(_prefix(one)), len(_prefix(other)))
    names = {**one.get("properties", {}), **other.get("properties", {})}
    one, other = (_spelled_out(schema, names, length) for schema in (one, other))
    merged = {**one, **other}
    for key in one.keys() & other.keys():
        if key in _MERGING:
            merged[key] = _MERGING[key](one[key], other[key])
    return merged


def _spelled_out(schema: Schema, names: Iterable[str], length: int) -> Schema:
    """What the schema says of all properties or items, said of these names and of the first `length` items too."""
    spelled = dict(schema)
    if "additionalProperties" in schema:
        known, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
        rest = [name for name in names if name not in known and not any(matches(text, name) for text in patterns)]
        spelled["properties"] = {**known, **dict.fromkeys(rest, schema["additionalProperties"])}
    if length and ("items" in schema or "prefixItems" in schema) and not isinstance(schema.get("items"), list):
        first = _prefix(schema)
        spelled["prefixItems"] = [*first, *[schema.get("items", True)] * (length - len(first))]
    return spelled


def matches(pattern: str, name: str) -> bool:
    """Whether a key of `patternProperties` means a property."""
    try:
        return re.search(pattern, name) is not None
    except re.error:
        return False


def types_of(type_: object) -> list[str]:
    return [type_] if isinstance(type_, str) else list(type_) if isinstance(type_, list) else []


def _prefix(schema: Schema) -> list[object]:
    return list(schema.get("prefixItems", ()))


def _types(one: object, other: object) -> list[str]:
    both = [name for name in types_of(one) if name in _wider(types_of(other))]
    both += [name for name in types_of(other) if name in _wider(types_of(one)) and name not in both]
    if not both:
        raise ContradictionError
    return both


def _wider(names: list[str]) -> list[str]:
    return [*names, "integer"] if "number" in names else names


def _common(one: list[Any], other: list[Any]) -> list[Any]:
    return [value for value in one if value in other]


def _same(one: Any, other: Any) -> Any:
    if one != other:
        raise ContradictionError
    return one


def _all_of(one: object, other: object) -> object:
    return {"allOf": [one, other]}


def _maps(one: Mapping[str, Any], other: Mapping[str, Any]) -> Mapping[str, Any]:
    return {**one, **other, **{key: _all_of(one[key], other[key]) for key in one.keys() & other.keys()}}


def _lists(one: list[Any], other: list[Any]) -> list[Any]:
    longer = max(one, other, key=len)
    return [*map(_all_of, one, other), *longer[min(len(one), len(other)) :]]


def _multiple(one: float, other: float) -> float:
    a, b = Fraction(str(one)), Fraction(str(other))
    numerator = a.numerator * b.numerator // gcd(a.numerator, b.numerator)
    least = Fraction(numerator, gcd(a.denominator, b.denominator))
    return int(least) if least.denominator == 1 else float(least)


def _union(one: Any, other: Any) -> list[Any]:
    return list(dict.fromkeys((*one, *other)))


_MERGING: Mapping[str, Callable[[Any, Any], Any]] = {
    "type": _types,
    "enum": _common,
    "const": _same,
    "required": _union,
    **dict.fromkeys(("properties", "patternProperties", "dependentSchemas"), _maps),
    "dependentRequired": lambda one, other: {**one, **other},
    **dict.fromkeys(("items", "additionalProperties", "propertyNames", "additionalItems"), _all_of),
    "prefixItems": _lists,
    **dict.fromkeys(("minimum", "minLength", "minItems", "minProperties", "minContains"), max),
    **dict.fromkeys(("maximum", "maxLength", "maxItems", "maxProperties", "maxContains"), min),
    "exclusiveMinimum": max,
    "exclusiveMaximum": min,
    "multipleOf": _multiple,
    "uniqueItems": lambda one, other: one or other,
    **dict.fromkeys(("pattern", "contains"), lambda one, other: (*each(one), *each(other))),
}


def each(value: Any) -> tuple[Any, ...]:
    """The patterns, or the schemas of what is contained: merged ones stand side by side."""
    return value if isinstance(value, tuple) else (value,)
