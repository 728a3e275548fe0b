"""Strings, numbers and the like that a flat JSON schema asks for, the smallest first."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from fractions import Fraction
from itertools import chain, count, islice
from math import ceil, floor
from typing import Any

from mockvllm.answers.pattern_texts import texts
from mockvllm.answers.schema_merge import Schema, each

_FORMATS = {
    "date-time": "2026-01-01T00:00:00Z",
    "date": "2026-01-01",
    "time": "00:00:00Z",
    "duration": "P1D",
    "email": "a@example.com",
    "idn-email": "a@example.com",
    "hostname": "example.com",
    "idn-hostname": "example.com",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "uri": "https://example.com",
    "iri": "https://example.com",
    "uri-reference": "https://example.com",
    "iri-reference": "https://example.com",
    "uri-template": "https://example.com",
    "uuid": "00000000-0000-4000-8000-000000000000",
    "json-pointer": "/a",
    "relative-json-pointer": "0",
    "regex": "a",
}
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_SOME = 64
_LONGEST = 100_000
_FIRST = 3  # texts for a pattern


def strings(flat: Schema) -> Iterator[str]:
    if flat.get("minLength", 0) > _LONGEST:
        return
    if flat.get("format") in _FORMATS:
        yield _FORMATS[flat["format"]]
    if "pattern" in flat:
        yield from _patterned(flat)
    least, most = flat.get("minLength", 0), flat.get("maxLength")
    length = max(least, 1 if most is None else min(1, most))
    yield from (letter * length for letter in (_LETTERS if length else " "))
    yield from ("a" * longer for longer in range(length + 1, length + _SOME) if most is None or longer <= most)


def _patterned(flat: Schema) -> Iterator[str]:
    """What is hard to find comes from the grammar engine. ImportError: it is missing."""
    least, patterns = flat.get("minLength", 0), each(flat["pattern"])
    for pattern in patterns:
        for text in islice(texts(pattern), _FIRST):
            yield from (text, text.ljust(least, "a"))
        yield from islice(texts(pattern, least), _FIRST)
    from mockvllm.answers.structured import string_like

    yield from string_like(flat)
    yield from chain.from_iterable(map(texts, patterns))
    yield from chain.from_iterable(islice(texts(text, more), 1) for more in range(1, _SOME) for text in patterns)


def integers(flat: Schema) -> Iterator[int]:
    step = Fraction(str(flat.get("multipleOf", 1))).numerator or 1
    low, high = _bounds(flat)
    lowest = None if low is None else ceil(low[0] / step) + (low[1] and ceil(low[0] / step) * step == low[0])
    highest = None if high is None else floor(high[0] / step) - (high[1] and floor(high[0] / step) * step == high[0])
    yield from (multiple * step for multiple in islice(_upwards(lowest, highest), _SOME))


def numbers(flat: Schema) -> Iterator[int | float]:
    """Whole ones first."""
    step = Fraction(str(flat["multipleOf"])) if flat.get("multipleOf") else None
    yield from integers(flat)
    low, high = _bounds(flat)
    if step is not None:
        start = 0 if low is None else ceil(low[0] / step)
        yield from (_plain(step * multiple) for multiple in range(start, start + _SOME))
    elif low is not None and high is not None:
        yield from (_plain(low[0] + (high[0] - low[0]) * Fraction(part, 8)) for part in (4, 1, 2, 3, 5, 6, 7))
    yield from (_plain(bound[0]) for bound in (low, high) if bound is not None)


_Bound = tuple[Fraction, bool]
"""A bound, and whether it is excluded."""


def _bounds(flat: Schema) -> tuple[_Bound | None, _Bound | None]:
    low = _bound(flat, "minimum", "exclusiveMinimum")
    high = _bound(flat, "maximum", "exclusiveMaximum")
    return max(low, default=None), min(high, key=lambda bound: (bound[0], not bound[1]), default=None)


def _bound(flat: Schema, inclusive: str, exclusive: str) -> list[_Bound]:
    """In draft 4 an exclusive bound is a flag of the other."""
    strict = flat.get(exclusive)
    bounds = []
    if inclusive in flat:
        bounds.append((Fraction(str(flat[inclusive])), strict is True))
    if strict is not None and not isinstance(strict, bool):
        bounds.append((Fraction(str(strict)), True))
    return bounds


def _upwards(lowest: int | None, highest: int | None) -> Iterable[int]:
    """Whole numbers between two bounds, from the one next to zero."""
    if highest is not None and highest < 0:
        return count(highest, -1) if lowest is None else range(highest, lowest - 1, -1)
    start = max(0, lowest or 0)
    upwards = count(start) if highest is None else range(start, highest + 1)
    if lowest is not None and lowest >= 0:
        return upwards
    downwards = count(-1, -1) if lowest is None else range(-1, lowest - 1, -1)
    return chain(islice(upwards, _SOME // 2), downwards)


def _plain(number: Fraction) -> int | float:
    return number.numerator if number.denominator == 1 else float(number)


SCALARS: Mapping[str, Callable[[Schema], Iterable[Any]]] = {
    "string": strings,
    "integer": integers,
    "number": numbers,
    "boolean": lambda flat: (False, True),
    "null": lambda flat: (None,),
}
