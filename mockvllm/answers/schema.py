"""The smallest value that a JSON schema (draft 4 to 2020-12) allows, or nearly so; the same one always."""

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import lru_cache, partial
from itertools import chain, islice
from typing import Any

from mockvllm.answers.schema_containers import arrays, objects
from mockvllm.answers.schema_flat import Flattener
from mockvllm.answers.schema_merge import Schema, types_of
from mockvllm.answers.schema_mistakes import without_mistakes
from mockvllm.answers.schema_scalars import SCALARS

_MOST_TRIED = 2000  # values, for one instance
_MOST_HERE = 60  # of them for one place
_MOST_NESTED = 12
_FIRST_OF_A_TYPE = 3  # then it is the next type's turn
_TYPES = ("string", "object", "array", "integer", "number", "boolean", "null")
_TELLING = {
    "object": ("properties", "required", "additionalProperties", "patternProperties", "minProperties"),
    "array": ("items", "prefixItems", "minItems", "contains", "uniqueItems"),
    "string": ("minLength", "maxLength", "pattern", "format"),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
}
"""Keywords that tell the type that is meant where none is named."""


class UnsatisfiableError(ValueError):
    """No instance was found: there is none, or the schema is too intricate."""


@lru_cache(maxsize=256)
def instance_text(schema: str) -> str:
    """An instance of a schema; both are JSON texts. Raises UnsatisfiableError."""
    return json.dumps(instance(json.loads(schema, parse_float=_number)), ensure_ascii=False)


def instance(schema: object) -> Any:
    """Raises UnsatisfiableError."""
    with suppress(RecursionError):
        sound = without_mistakes(schema)
        for value in _Instances(sound).some(sound):
            return value
    raise UnsatisfiableError(f"no instance was found of the schema {json.dumps(schema)[:200]}")


def _number(text: str) -> int | float:
    """A whole number may be written with a point."""
    number = float(text)
    return int(number) if number.is_integer() else number


class _Instances:
    """Values for the places of one schema; what is guessed for a place is checked against all that is said of it."""

    def __init__(self, root: object) -> None:
        self._flat = Flattener(root).flat
        self._allows = _checker(root)
        self._left = _MOST_TRIED

    def some(self, schema: object, depth: int = 0) -> Iterator[Any]:
        """Different values that the schema allows, the smallest first."""
        if depth > _MOST_NESTED:
            return
        seen = set()
        for value in islice(self._guesses(schema, depth), _MOST_HERE):
            self._left -= 1
            if self._left < 0:
                return
            shown = json.dumps(value, sort_keys=True)
            if shown not in seen and self._allows(schema, value):
                seen.add(shown)
                yield value

    def _guesses(self, schema: object, depth: int) -> Iterator[Any]:
        some = partial(self.some, depth=depth + 1)
        for flat in self._flat(schema):
            if "const" in flat:
                yield flat["const"]
            elif "enum" in flat:
                yield from flat["enum"]
            else:
                ways = [iter(_of_type(type_, flat, some)) for type_ in _types(flat)]
                yield from chain(*(islice(way, _FIRST_OF_A_TYPE) for way in ways), *ways)


def _of_type(type_: str, flat: Schema, some: Callable[[object], Iterator[Any]]) -> Iterable[Any]:
    if type_ == "object":
        return objects(flat, some)
    if type_ == "array":
        return arrays(flat, some)
    return SCALARS[type_](flat) if type_ in SCALARS else ()


def _types(flat: Schema) -> Iterable[str]:
    named = types_of(flat.get("type"))
    told = [type_ for type_, keywords in _TELLING.items() if any(keyword in flat for keyword in keywords)]
    return named or dict.fromkeys((*told, *_TYPES))


def _checker(root: object) -> Callable[[object, Any], bool]:
    """Whether a schema within `root` allows a value. What is no schema allows all."""
    from jsonschema.validators import (  # type: ignore[import-untyped]  # slow to import
        Draft202012Validator,
        validator_for,
    )

    validator = validator_for(root, default=Draft202012Validator)(root)

    def allows(schema: object, value: Any) -> bool:
        try:
            return bool(validator.evolve(schema=schema).is_valid(value))
        except Exception:  # of an unknown type, a pattern that is none, a reference to nowhere
            return True

    return allows
