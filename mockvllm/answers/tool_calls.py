"""Tool calls in what a model says, as vLLM's tool parsers find them: in a whole text, and in one that grows."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol, TypedDict


class ToolCall(NamedTuple):
    """`arguments`: a JSON text."""

    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class ToolCallDelta:
    """What a delta adds to the call `index`: the name, which opens it, or more of its arguments."""

    index: int
    name: str | None = None
    arguments: str | None = None

    def extended(self, arguments: str) -> "ToolCallDelta":
        return replace(self, arguments=(self.arguments or "") + arguments)


class MessageDelta(TypedDict, total=False):
    """What some tokens add to a message. A key that is there with None is sent as null (vLLM's explicitly set None)."""

    content: str | None
    reasoning: str | None
    tool_calls: list[ToolCallDelta]


class Message(NamedTuple):
    """A whole message. `content` None: nothing was said but reasoning or calls."""

    content: str | None
    tool_calls: Sequence[ToolCall] = ()
    reasoning: str | None = None


class ToolParser(Protocol):
    """One choice's: fed with its text piece by piece, or asked once about the whole of it."""

    def feed(self, text: str) -> MessageDelta | None:
        """What `text` adds; None: nothing yet."""
        ...

    def rest(self) -> str:
        """Arguments of the last call that the text implies and no delta has said; vLLM adds them to the last delta."""
        ...

    def parse(self, text: str) -> Message: ...


class NoToolCalls:
    """The parser of a request that wants no calls (vLLM: `tool_choice` none): all is content, nothing is no delta."""

    def feed(self, text: str) -> MessageDelta | None:
        return {"content": text} if text else None

    def rest(self) -> str:
        return ""

    def parse(self, text: str) -> Message:
        return Message(text)


@dataclass(frozen=True, slots=True)
class ToolFormat:
    """How a family of models writes calls.

    `envelopes`: what stands before the name, between name and arguments, and behind them; the first is how we write.
    `trigger`: free text before a call ends with it. `text_between`: required calls may have free text around them.
    """

    name: str
    parser: Callable[[], ToolParser]
    envelopes: Sequence[tuple[str, str, str]]
    trigger: str
    text_between: bool
    shows_special_tokens: bool

    def write(self, call: ToolCall) -> str:
        before, between, behind = self.envelopes[0]
        return f"{before}{call.name}{between}{call.arguments}{behind}"


def is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True
