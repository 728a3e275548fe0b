"""A JSON schema without references and combinations: one schema for each way to satisfy them."""

import json
from collections.abc import Iterable, Iterator
from functools import reduce
from itertools import chain, islice, product
from typing import Any
from urllib.parse import unquote

from mockvllm.answers.schema_merge import ContradictionError, Schema, merge

_COMBINING = frozenset(
    ("$ref", "$dynamicRef", "$recursiveRef", "allOf", "anyOf", "oneOf", "if", "then", "else", "dependencies")
)
_MOST_WAYS = 32


class Flattener:
    """For the schemas within one document."""

    def __init__(self, root: object) -> None:
        self._root = root
        self._named = dict(_named(root))

    def flat(self, schema: object, followed: frozenset[str] = frozenset()) -> Iterator[Schema]:
        """`followed`: the references that led here; one that leads back to itself leads nowhere."""
        if schema is True:
            yield {}
        if not isinstance(schema, dict):
            return
        own = {key: value for key, value in schema.items() if key not in _COMBINING}
        ways = [list(islice(way, _MOST_WAYS)) for way in self._ways(schema, followed)]
        for choice in islice(product(*ways), _MOST_WAYS):
            try:
                yield reduce(merge, choice, own)
            except ContradictionError:
                continue

    def _ways(self, schema: Schema, followed: frozenset[str]) -> Iterator[Iterable[Schema]]:
        """For each combination in the schema, the ways to satisfy it."""
        for key in ("$ref", "$dynamicRef", "$recursiveRef"):
            if key in schema:
                yield self._target(schema[key], followed)
        for part in schema.get("allOf", ()):
            yield self.flat(part, followed)
        for key in ("anyOf", "oneOf"):
            if key in schema:
                options = sorted(schema[key], key=_recurs)
                yield chain.from_iterable(self.flat(option, followed) for option in options)
        if "if" in schema:
            yield self._conditions(schema, followed)
        for name, then in _dependencies(schema):
            if name in schema.get("required", ()):
                yield self.flat(then, followed)

    def _target(self, reference: str, followed: frozenset[str]) -> Iterable[Schema]:
        if reference in followed:
            return ()
        return self.flat(self._resolved(reference), followed | {reference})

    def _conditions(self, schema: Schema, followed: frozenset[str]) -> Iterator[Schema]:
        yield from self.flat({"allOf": [schema["if"], schema.get("then", True)]}, followed)
        yield from self.flat(schema.get("else", True), followed)

    def _resolved(self, reference: str) -> object:
        if reference in self._named:
            return self._named[reference]
        place: Any = self._named.get(reference.partition("#")[0], self._root)
        for step in map(unquote, reference.partition("#")[2].split("/")[1:]):
            step = step.replace("~1", "/").replace("~0", "~")
            try:
                place = place[int(step)] if isinstance(place, list) else place[step]
            except (LookupError, ValueError, TypeError):
                return False  # there is nothing there
        return place


def _dependencies(schema: Schema) -> Iterator[tuple[str, object]]:
    for key in ("dependentSchemas", "dependencies"):
        for name, then in schema.get(key, {}).items():
            yield name, {"required": then} if isinstance(then, list) else then


def _recurs(option: object) -> bool:
    return '"$ref"' in json.dumps(option)


def _named(place: object) -> Iterator[tuple[str, object]]:
    """The schemas that have a name of their own in a document, by what refers to them."""
    if isinstance(place, dict):
        if isinstance(place.get("$id"), str):
            yield place["$id"], place
        for key in ("$anchor", "$dynamicAnchor"):
            if isinstance(place.get(key), str):
                yield f"#{place[key]}", place
    for inner in place.values() if isinstance(place, dict) else place if isinstance(place, list) else ():
        yield from _named(inner)
