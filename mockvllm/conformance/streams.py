"""Streams of events, by choice: those of different choices interleave in varying order."""

import json
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

SAID = frozenset(("content", "reasoning", "text"))
"""Keys whose texts are joined when events are merged."""


def is_stream(body: str) -> bool:
    return body.startswith(("data:", "event:"))


def events(body: str) -> list[str]:
    return [event for event in body.split("\n\n") if event]


def payload(event: str) -> Any:
    """The JSON behind `data: `; None if it is none (`[DONE]`)."""
    try:
        return json.loads(event.partition("data: ")[2])
    except ValueError:
        return None


def by_choice(body: str) -> dict[int | None, list[str]]:
    """Events by the index of their choice (None: no choice), in order within each."""
    groups: dict[int | None, list[str]] = defaultdict(list)
    for event in events(body):
        groups[_index(payload(event))].append(event)
    return dict(groups)


def _index(data: Any) -> int | None:
    choices = data.get("choices") if isinstance(data, dict) else None
    return choices[0].get("index") if isinstance(choices, list) and choices and isinstance(choices[0], dict) else None


@dataclass
class Folded:
    """One choice's events without their borders. A server that falls behind merges tokens of one choice into one event:
    which kinds of events follow each other, and what they say together, stays.
    """

    kinds: list[str] = field(default_factory=list)
    said: dict[str, list[Any]] = field(default_factory=lambda: defaultdict(list))

    def add(self, event: str) -> None:
        data = payload(event)
        kind = event if data is None else event.partition("data: ")[0] + json.dumps(self._kind(data, ""))
        if self.kinds[-1:] != [kind]:
            self.kinds.append(kind)

    def _kind(self, value: Any, path: str) -> Any:
        """`value` without what it says, which is noted."""
        key = path.rpartition("/")[2]
        if (isinstance(value, str) and key in SAID) or (isinstance(value, list) and _is_per_token(path)):
            self.said[path].extend(value)  # a text character by character, a list item by item
            return type(value)()
        if isinstance(value, dict):
            return {name: self._kind(item, f"{path}/{name}") for name, item in value.items()}
        if isinstance(value, list):
            return [self._kind(item, path) for item in value]
        return value


def _is_per_token(path: str) -> bool:
    return path.endswith("/token_ids") or "/logprobs/" in path


def folded(of_choice: Iterable[str]) -> Folded:
    result = Folded()
    for event in of_choice:
        result.add(event)
    return result
