"""Bodies as shapes: keys in order and the kinds of values, whatever is said."""

import json
from typing import Any

from mockvllm.conformance.streams import events, is_stream


def shapes(body: str) -> list[str]:
    """The shapes that occur in a body, or among the events of a stream."""
    return sorted({_shape_of(part) for part in (events(body) if is_stream(body) else [body])})


def _shape_of(part: str) -> str:
    head, found, data = part.rpartition("data: ")
    try:
        return head + json.dumps(_shape(json.loads(data)))
    except ValueError:
        return part if found else "text"


def _shape(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _shape(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_shape(value[0])] if value else []
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return "number" if is_number else type(value).__name__
