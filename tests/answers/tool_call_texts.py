"""Texts with calls, cut at random, and what the deltas of a parser add up to."""

import json
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

from hypothesis import strategies as st

from mockvllm.answers.tool_calls import MessageDelta, ToolCall

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-999, 999) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
ARGUMENTS = st.dictionaries(
    st.text(st.characters(codec="ascii", categories=["L"]), min_size=1), JSON_VALUES, max_size=3
)
CALLS = st.lists(st.tuples(st.sampled_from(["f", "get_weather", "a-b.c"]), ARGUMENTS), min_size=1, max_size=3)


def dumps(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


@st.composite
def cut(draw: st.DrawFn, text: str) -> list[str]:
    """`text` in pieces."""
    places = sorted(draw(st.sets(st.integers(0, len(text)), max_size=8)) | {0, len(text)})
    return [text[start:stop] for start, stop in pairwise(places)] or [text]


def content_of(deltas: Iterable[MessageDelta | None]) -> str:
    return "".join((delta or {}).get("content") or "" for delta in deltas)


def calls_of(deltas: Sequence[MessageDelta | None]) -> list[ToolCall]:
    """The calls that deltas add up to. Each begins with its name, and they come in order."""
    calls: list[ToolCall] = []
    for part in (part for delta in deltas for part in (delta or {}).get("tool_calls", ())):
        if part.name is not None:
            assert part.index == len(calls)
            calls.append(ToolCall(part.name, ""))
        name, arguments = calls[part.index]
        calls[part.index] = ToolCall(name, arguments + (part.arguments or ""))
    return calls
