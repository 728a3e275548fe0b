"""Objects and arrays that a flat JSON schema asks for, the smallest first."""

from collections.abc import Callable, Iterator
from itertools import chain, count, islice
from typing import Any

from mockvllm.answers.schema_merge import Schema, each, matches

Some = Callable[[object], Iterator[Any]]
"""Different values for a schema within, the smallest first; none if there is none."""

_EXTRA_NAMES = 8
_MOST_MEMBERS = 1000


def objects(flat: Schema, some: Some) -> Iterator[dict[str, Any]]:
    """With what is required, then with each other property too, at last with all of them."""
    if flat.get("minProperties", 0) > _MOST_MEMBERS:
        return
    needed = _required(flat)
    properties = [name for name in flat.get("properties", {}) if name not in needed]
    missing = max(0, flat.get("minProperties", 0) - len(needed))
    others = [*properties, *(_extra_names(flat, some, {*needed, *properties}) if missing > len(properties) else ())]
    choices = chain([others[:missing]], ([*others[:missing], name] for name in others[missing:]), [others])
    for more in choices:
        made = _object(flat, some, [*needed, *more])
        if made is not None:
            yield made
            if not others:
                return


def arrays(flat: Schema, some: Some) -> Iterator[list[Any]]:
    """As short as may be, then longer."""
    if max(flat.get("minItems", 0), flat.get("minContains", 0)) > _MOST_MEMBERS:
        return
    contained = [*each(flat["contains"])] * flat.get("minContains", 1) if "contains" in flat else []
    shortest = max(flat.get("minItems", 0), len(contained))
    longest = flat.get("maxItems", shortest + 2)
    for length in range(shortest, min(longest, shortest + 2) + 1):
        made = _array(flat, some, length, contained)
        if made is not None:
            yield made


def _required(flat: Schema) -> list[str]:
    """The required names, and those that they bring along."""
    needed = list(dict.fromkeys(flat.get("required", ())))
    for name in needed:  # grows as it is walked
        needed += [other for other in flat.get("dependentRequired", {}).get(name, ()) if other not in needed]
    return needed


def _extra_names(flat: Schema, some: Some, taken: set[str]) -> list[str]:
    """Names that the schema does not know but may allow."""
    names = some({"allOf": [{"type": "string"}, flat.get("propertyNames", True)]})
    patterns = chain.from_iterable(
        some({"type": "string", "pattern": text}) for text in flat.get("patternProperties", ())
    )
    plain = (f"a{number}" for number in count(1))
    found = chain(islice(patterns, _EXTRA_NAMES), islice(names, _EXTRA_NAMES), plain)
    wanted: int = flat["minProperties"]
    return list(islice((name for name in found if name not in taken), wanted))


def _object(flat: Schema, some: Some, names: list[str]) -> dict[str, Any] | None:
    """In the order of `properties`, which grammars insist on."""
    made = {}
    known = [name for name in flat.get("properties", {}) if name in names]
    for name in dict.fromkeys((*known, *names)):
        value = next(some(_schema_of(flat, name)), _NOTHING)
        if value is _NOTHING:
            return None
        made[name] = value
    return made


def _schema_of(flat: Schema, name: str) -> object:
    """All that is said of a property."""
    known = [flat["properties"][name]] if name in flat.get("properties", {}) else []
    known += [schema for pattern, schema in flat.get("patternProperties", {}).items() if matches(pattern, name)]
    if not known:
        known = [flat.get("additionalProperties", True)]
    return known[0] if len(known) == 1 else {"allOf": known}


def _array(flat: Schema, some: Some, length: int, contained: list[object]) -> list[Any] | None:
    made: list[Any] = []
    for place in range(length):
        schema = _schema_at(flat, place)
        missing = contained[place - length :] if length - place <= len(contained) else ()
        values = some({"allOf": [schema, missing[0]]} if missing else schema)
        fresh = (value for value in values if not flat.get("uniqueItems") or value not in made)
        value = next(fresh, _NOTHING)
        if value is _NOTHING:
            return None
        made.append(value)
    return made


def _schema_at(flat: Schema, place: int) -> object:
    items = flat.get("items", True)
    first, rest = (
        (items, flat.get("additionalItems", True)) if isinstance(items, list) else (flat.get("prefixItems", ()), items)
    )
    return first[place] if place < len(first) else rest


_NOTHING = object()
