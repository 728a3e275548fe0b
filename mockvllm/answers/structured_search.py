"""How a text that a grammar has begun may end soonest."""

import heapq
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import count
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from llguidance import LLMatcher

_MOST_LOOKED_AT = 10_000  # places, for one text
_MOST_AT_ONCE = 4_000
_MOST_WORDS = 64
_WORD = re.compile(r"[\w <>=:;,-]+")
_PREFERRED = b"a0\"}]>)'123456789bcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_LAST = b" \t\n\r"
_BYTES = sorted(range(256), key=lambda byte: (byte < 32, byte in _LAST, _PREFERRED.find(byte) % 256, byte))
"""In the order in which we would say them."""

_Way = tuple[bytes, bytes, "LLMatcher"]
"""What may come next, and where that leads: the kind of place (what may come there), and the place."""


class EndSearch:
    """For one text. `hints`: words that may lead out of where it could go on in any way."""

    def __init__(self, hints: Sequence[bytes] = ()) -> None:
        self._hints = hints
        self._left = _MOST_LOOKED_AT

    def end_from(self, matcher: "LLMatcher") -> bytes:
        """What must yet be said, as far as an end is in sight; b"": none is. The matcher stays where it is.

        Short ways come first, and of those the ones to kinds of places at which we have been least.
        """
        order, seen = count(), Counter[bytes]()
        behind = [(b"", b"", matcher), *filter(None, (self._behind(matcher, word) for word in self._hints))]
        found = [(len(said), next(order), said, kind, place) for said, kind, place in behind]
        heapq.heapify(found)
        enough = max(0, self._left - _MOST_AT_ONCE)
        while found and self._left > enough:
            cost, number, said, kind, place = heapq.heappop(found)
            if cost < len(said) + seen[kind]:
                heapq.heappush(found, (len(said) + seen[kind], number, said, kind, place))
                continue
            if place.is_accepting():
                return said
            seen[kind] += 1
            for more, there, way in self._ways_on(place):
                heapq.heappush(found, (len(said + more) + seen[there], next(order), said + more, there, way))
        return b""

    def _ways_on(self, place: "LLMatcher") -> Iterator[_Way]:
        """One to each kind of place."""
        forced, seen = place.compute_ff_bytes(), set[bytes]()
        for more in (forced,) if forced else (bytes((byte,)) for byte in _allowed(place)):
            way = self._behind(place, more)
            if way is not None and way[1] not in seen:
                seen.add(way[1])
                yield way

    def _behind(self, place: "LLMatcher", more: bytes) -> _Way | None:
        self._left -= 1
        there = place.deep_copy()
        if there.try_consume_tokens(list(more)) < len(more):
            return None
        return more, bytes((there.is_accepting(),)) + there.compute_bitmask(), there


def words(source: str) -> Sequence[bytes]:
    """The words that a regular expression or a grammar is written with."""
    return [word.encode() for word in dict.fromkeys(_WORD.findall(source))][:_MOST_WORDS]


def any_way_on(matcher: "LLMatcher") -> bytes:
    """One character that is allowed, or all that is forced."""
    return matcher.compute_ff_bytes() or bytes(_allowed(matcher)[:1])


def _allowed(place: "LLMatcher") -> Sequence[int]:
    """The bytes that may come next; parts of characters beyond ASCII only if there is nothing else."""
    mask = place.compute_bitmask()
    ways = [byte for byte in _BYTES if mask[byte >> 3] >> (byte & 7) & 1]
    return [byte for byte in ways if byte < 128] or ways
