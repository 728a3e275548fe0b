"""How a text that a grammar has begun may end soonest."""

import heapq
import re
from collections.abc import Iterator, Sequence
from itertools import count
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from llguidance import LLMatcher

_WAYS_LOOKED_AT = 400
_MOST_WORDS = 64
_WORD = re.compile(r"[\w <>=:;,-]+")
_PREFERRED = b"a0\"}]>)'123456789bcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_LAST = b" \t\n\r"
_BYTES = sorted(range(256), key=lambda byte: (byte < 32, byte in _LAST, _PREFERRED.find(byte) % 256, byte))
"""In the order in which we would say them."""


def shortest_end(matcher: "LLMatcher", hints: Sequence[bytes] = ()) -> bytes:
    """What must yet be said, as far as an end is in sight; b"": none is. The matcher stays where it is.

    `hints`: words that may lead out of a text that could go on in any way.
    """
    for word in (b"", *hints):
        if matcher.validate_tokens(list(word)) == len(word):
            place = matcher.deep_copy()
            place.consume_tokens(list(word))
            if place.is_accepting() and word:
                return word
            found = _shortest_end(place)
            if found:
                return word + found
    return b""


def words(source: str) -> Sequence[bytes]:
    """The words that a regular expression or a grammar is written with."""
    return [word.encode() for word in dict.fromkeys(_WORD.findall(source))][:_MOST_WORDS]


def _shortest_end(matcher: "LLMatcher") -> bytes:
    """Places from which the same may be said are taken for one, so that a long way does not hide an end beside it."""
    order, seen = count(), set[bytes]()
    found: list[tuple[int, int, bytes, LLMatcher]] = [(0, next(order), b"", matcher)]
    while found and next(order) < _WAYS_LOOKED_AT:
        _, _, said, place = heapq.heappop(found)
        if place.is_accepting():
            return said
        for more, there in _ways_on(place, seen):
            heapq.heappush(found, (len(said + more), next(order), said + more, there))
    return b""


def any_way_on(matcher: "LLMatcher") -> bytes:
    """One character that is allowed, or all that is forced."""
    return matcher.compute_ff_bytes() or bytes(_allowed(matcher)[:1])


def _ways_on(place: "LLMatcher", seen: set[bytes]) -> Iterator[tuple[bytes, "LLMatcher"]]:
    """What may come next, and where that leads: to places that are not `seen`, which they are from then on."""
    forced = place.compute_ff_bytes()
    for more in (forced,) if forced else (bytes((byte,)) for byte in _allowed(place)):
        there = place.deep_copy()
        there.consume_tokens(list(more))
        kind = bytes((there.is_accepting(),)) + there.compute_bitmask()
        if kind not in seen:
            seen.add(kind)
            yield more, there


def _allowed(place: "LLMatcher") -> Sequence[int]:
    """The bytes that may come next; parts of characters beyond ASCII only if there is nothing else."""
    mask = place.compute_bitmask()
    ways = [byte for byte in _BYTES if mask[byte >> 3] >> (byte & 7) & 1]
    return [byte for byte in ways if byte < 128] or ways
