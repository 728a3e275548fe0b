"""Tool calls as /v1/chat/completions writes them."""

import random
from collections.abc import Mapping, Sequence
from typing import Any, Protocol


class ToolCall(Protocol):
    """A whole call; `arguments` is a JSON text."""

    @property
    def name(self) -> str: ...
    @property
    def arguments(self) -> str: ...


class ToolCallDelta(Protocol):
    """What a delta adds to the call `index`; with a name, it opens it."""

    @property
    def index(self) -> int: ...
    @property
    def name(self) -> str | None: ...
    @property
    def arguments(self) -> str | None: ...


class Message(Protocol):
    """A whole message as its parser reads it."""

    @property
    def content(self) -> str | None: ...
    @property
    def reasoning(self) -> str | None: ...
    @property
    def tool_calls(self) -> Sequence[ToolCall]: ...


class MessageParser(Protocol):
    """One choice's. A delta has the keys `content`, `reasoning` and `tool_calls`, as far as they are set."""

    def feed(self, text: str, *, finished: bool = False) -> Mapping[str, Any] | None: ...
    def parse(self, text: str) -> Message: ...


def whole_calls(calls: Sequence[ToolCall], *, single: bool) -> list[dict[str, Any]]:
    """`single`: the request wants one call at most (`parallel_tool_calls` false)."""
    return [
        {"id": tool_call_id(), "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
        for call in calls[: 1 if single else None]
    ]


def delta_message(delta: Mapping[str, Any], *, single: bool) -> dict[str, Any]:
    """What is set of a message's delta, in vLLM's order. A list of calls that is empty is not set."""
    message = {key: delta[key] for key in ("content", "reasoning") if key in delta}
    calls = [call for call in delta.get("tool_calls", ()) if not (single and call.index)]
    if calls:
        message["tool_calls"] = [_call_delta(call) for call in calls]
    return message


def tool_call_id() -> str:
    return f"chatcmpl-tool-{random.getrandbits(64):016x}"


def _call_delta(call: ToolCallDelta) -> dict[str, Any]:
    opening = {} if call.name is None else {"id": tool_call_id(), "type": "function"}
    function = {"name": call.name, "arguments": call.arguments}
    said = {key: text for key, text in function.items() if text is not None}
    return opening | {"index": call.index, "function": said}
