"""A message in parts, each of which is opened, filled and closed: items of /v1/responses, blocks of /v1/messages."""

from collections.abc import Mapping
from typing import Any, Protocol


class Parts(Protocol):
    """Writes the events that come of what is said. Calls are known by their index."""

    def reasoning(self, text: str) -> bytes: ...
    def text(self, text: str) -> bytes: ...
    def call(self, call: int, id: str, name: str) -> bytes: ...
    def arguments(self, call: int, arguments: str) -> bytes: ...


def told(message: Mapping[str, Any] | None, parts: Parts) -> bytes:
    """The events of what a delta adds to a chat's message; what is empty has none."""
    if message is None:
        return b""
    reasoning, text = message.get("reasoning"), message.get("content")
    events = parts.reasoning(reasoning) if reasoning else b""
    events += parts.text(text) if text else b""
    for call in message.get("tool_calls", ()):
        index, function = call["index"], call["function"]
        if "id" in call:
            events += parts.call(index, call["id"], function["name"])
        if function.get("arguments"):
            events += parts.arguments(index, function["arguments"])
    return events
