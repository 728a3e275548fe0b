"""Regular expressions without what the grammar engine does not know: lookarounds and the edges of words."""

import re
from collections.abc import Collection
from typing import Any

_LOOKAHEADS = ("(?=", "(?!")
_LOOKAROUNDS = (*_LOOKAHEADS, "(?<=", "(?<!")
_EDGES = (r"\b", r"\B")
_VALUES = ("const", "enum")  # hold no schemas
_PART = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|.", re.DOTALL)
"""An escape, a class of characters, or any other character."""


def without_lookaheads(schema: Any) -> Any:
    """A JSON schema whose patterns say nothing of what comes behind: xgrammar ignores that (0.2)."""
    if isinstance(schema, list):
        return [without_lookaheads(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    plain = {key: value if key in _VALUES else without_lookaheads(value) for key, value in schema.items()}
    if isinstance(schema.get("pattern"), str):
        plain["pattern"] = _without(schema["pattern"], _LOOKAHEADS)
    return plain


def without_assertions(pattern: str) -> str:
    """What a pattern says of the characters themselves."""
    return _without(pattern, _LOOKAROUNDS, _EDGES)


def _without(pattern: str, groups: tuple[str, ...], parts: Collection[str] = ()) -> str:
    kept = ""
    while pattern:
        if pattern.startswith(groups):
            pattern = pattern[_end(pattern) :]
            continue
        part = _first(pattern)
        kept += "" if part in parts else part
        pattern = pattern[len(part) :]
    return kept


def _end(pattern: str) -> int:
    """How long the group is with which `pattern` begins."""
    depth = length = 0
    while length < len(pattern):
        part = _first(pattern[length:])
        length += len(part)
        depth += (part == "(") - (part == ")")
        if depth == 0:
            break
    return length


def _first(pattern: str) -> str:
    part = _PART.match(pattern)
    assert part is not None  # any character is one
    return part[0]
