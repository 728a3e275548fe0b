"""One choice's text as reasoning, content and tool calls, in the order in which vLLM's front end asks its parsers."""

from mockvllm.answers.reasoning import ReasoningCount, ReasoningParser
from mockvllm.answers.tool_calls import Message, MessageDelta, ToolParser


class MessageParser:
    """For a stream `feed` (every delta once, in order), for a whole text `parse`; not both.

    `tools` None: the server has no tool parser (one whose request wants no calls has `NoToolCalls`).
    `closed`: the prompt has ended the reasoning; only streams look at that.
    """

    def __init__(
        self,
        reasoning: ReasoningParser | None,
        tools: ToolParser | None,
        *,
        closed: bool = False,
        include_reasoning: bool = True,
    ) -> None:
        self.reasoning_count: ReasoningCount | None = None if reasoning is None else reasoning.counter()
        self._reasoning = reasoning
        self._tools = tools
        self._thinking = reasoning is not None and not closed and not reasoning.ended
        self._include_reasoning = include_reasoning

    def feed(self, text: str, *, finished: bool = False) -> MessageDelta | None:
        """What `text` adds to the message, None if nothing. `finished`: it is the last."""
        delta = self._think(text) if self._thinking else self._say(text)
        if finished and delta is not None and delta.get("tool_calls"):
            _complete(delta, self._tools)
        return delta if self._include_reasoning else _without_reasoning(delta)

    def parse(self, text: str) -> Message:
        reasoning, content = (None, text) if self._reasoning is None else self._reasoning.split(text)
        message = Message(content) if self._tools is None or content is None else self._tools.parse(content)
        return message._replace(reasoning=reasoning if self._include_reasoning else None)

    def _say(self, text: str) -> MessageDelta | None:
        return {"content": text} if self._tools is None else self._tools.feed(text)

    def _think(self, text: str) -> MessageDelta | None:
        assert self._reasoning is not None
        delta = self._reasoning.feed(text)
        self._thinking = not self._reasoning.ended
        if self._thinking or self._tools is None:
            return delta
        thought = delta or MessageDelta()
        said = self._tools.feed(thought.get("content") or "")
        if thought.get("reasoning"):
            said = MessageDelta(**(said or {}), reasoning=thought["reasoning"])
        return said


def _complete(delta: MessageDelta, tools: ToolParser | None) -> None:
    """The last call's arguments with all that the text implies, and be it nothing."""
    calls = delta["tool_calls"]
    if tools is not None:
        calls[-1] = calls[-1].extended(tools.rest())


def _without_reasoning(delta: MessageDelta | None) -> MessageDelta | None:
    if delta is None or not (delta.get("content") or delta.get("tool_calls")):
        return None
    return {**delta, "reasoning": None}
