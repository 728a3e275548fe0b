"""Texts that a regular expression (of a JSON schema: ECMA 262, or nearly so) matches, short ones first."""

import re
from collections.abc import Iterator

from mockvllm.answers.pattern_classes import PREFERRED, bracket, escape, pick

_LONGEST = 4096
_QUANTIFIER = re.compile(r"(?:\{(\d+)(,?)(\d*)\}|([*+?]))[?+]?")
_FLAGS = re.compile(r"\(\?[a-zA-Z-]+\)")
_GROUP = re.compile(r"\((?:\?(?:[:>]|P?<(?![=!])(\w+)>|[a-zA-Z-]+:)|(?!\?))")
_LOOKAROUND = re.compile(r"\(\?<?[=!]")
_NAMED = re.compile(r"\\(?:([1-9])|k<(\w+)>)")
_NOWHERE = re.compile(r"[$^]|\\[bBAzZG]")
"""What is no character: where a text begins, where it ends, edges of words."""


def texts(pattern: str, more: int = 0) -> Iterator[str]:
    """Different texts, most of which match: what a pattern says of what stands around a place is only tried.

    `more`: how much oftener things are repeated than they must be. Nothing for what cannot be read.
    """
    seen = set()
    for first in PREFERRED:
        reader = _Reader(pattern, first, more)
        try:
            text = reader.whole()
        except (ValueError, IndexError, RecursionError):
            return
        ahead = "".join(reader.ahead)
        for made in (text, ahead + text[len(ahead) :], ahead + text):
            if made not in seen:
                seen.add(made)
                yield made


class _Reader:
    """Reads a pattern from left to right, and writes a short text on the way: classes give `first` if they can.

    `ahead`: texts for the lookaheads that must match.
    """

    def __init__(self, pattern: str, first: str, more: int) -> None:
        self.ahead: list[str] = []
        self._pattern = pattern
        self._first = first
        self._more = more
        self._at = 0
        self._groups: dict[str, str] = {}

    def whole(self) -> str:
        """Raises ValueError or IndexError for what is no pattern."""
        text = self._alternatives()
        if self._at < len(self._pattern):
            raise ValueError("a bracket too many")
        return text

    def _alternatives(self) -> str:
        ways = [self._sequence()]
        while self._pattern.startswith("|", self._at):
            self._at += 1
            ways.append(self._sequence())
        return min(ways, key=len)

    def _sequence(self) -> str:
        text = ""
        while self._at < len(self._pattern) and self._pattern[self._at] not in "|)":
            one = self._one()
            times = self._times()
            if len(one) * times > _LONGEST:
                raise ValueError("too long a text")
            text += one * times
        return text

    def _one(self) -> str:
        if self._skip(_NOWHERE) or self._skip(_FLAGS):
            return ""
        around = self._skip(_LOOKAROUND)
        if around:
            inside = self._inside()
            self.ahead += [inside] * (around[0] == "(?=")
            return ""
        group = self._skip(_GROUP)
        if group:
            return self._group(group)
        named = self._skip(_NAMED)
        if named:
            return self._groups.get(named[1] or named[2], "")
        return self._character()

    def _character(self) -> str:
        character = self._pattern[self._at]
        self._at += 1
        if character == ".":
            return pick(lambda other: other != "\n", self._first)
        if character == "[":
            wanted, self._at = bracket(self._pattern, self._at)
            return pick(wanted, self._first)
        if character == "\\":
            meant, self._at = escape(self._pattern, self._at)
            return meant if isinstance(meant, str) else pick(meant, self._first)
        return character

    def _group(self, opened: re.Match[str]) -> str:
        number = str(1 + sum(name.isdigit() for name in self._groups))
        captures = opened[0] == "(" or opened[1] is not None
        if captures:
            self._groups[number] = ""  # what is inside counts on
        text = self._inside()
        if captures:
            self._groups[number] = self._groups[opened[1] or number] = text
        return text

    def _inside(self) -> str:
        text = self._alternatives()
        if self._pattern[self._at] != ")":
            raise ValueError("a bracket too few")
        self._at += 1
        return text

    def _times(self) -> int:
        found = self._skip(_QUANTIFIER)
        if found is None:
            return 1
        if found[4]:
            low, high = {"*": (0, None), "+": (1, None), "?": (0, 1)}[found[4]]
        else:
            low, high = int(found[1]), int(found[3]) if found[3] else None if found[2] else int(found[1])
        return low + self._more if high is None else min(low + self._more, high)

    def _skip(self, what: re.Pattern[str]) -> re.Match[str] | None:
        found = what.match(self._pattern, self._at)
        if found is not None:
            self._at = found.end()
        return found
