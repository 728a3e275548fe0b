"""Reasoning in what a model says, as vLLM's parsers `deepseek_r1` and `qwen3` find it (0.30 to 0.33).

A tag is one token of its model, so a tag is never spread over two deltas.
"""

import re
from collections.abc import Mapping
from typing import Protocol

from mockvllm.answers.tool_calls import MessageDelta

START = "<think>"
END = "</think>"
TOOL_CALL = "<tool_call>"
_QWEN3_END = re.compile(f"{END}|{TOOL_CALL}")

Split = tuple[str | None, str | None]
"""A text as (reasoning, content)."""


class ReasoningCount(Protocol):
    """The reasoning tokens of one choice, as `completion_tokens_details` counts them."""

    total: int

    def add(self, text: str | None) -> None:
        """The next token's text, special tokens' too; None: a token that ends the turn."""
        ...


class ReasoningParser(Protocol):
    """One choice's. `ended`: what follows is content, and no longer for this parser."""

    ended: bool

    def feed(self, text: str) -> MessageDelta | None:
        """What `text` adds: if the reasoning ends in it, also the content behind. None: nothing."""
        ...

    def split(self, text: str) -> Split:
        """A whole text."""
        ...

    def closed_by(self, prompt: str) -> bool:
        """Whether content comes at once after this prompt."""
        ...

    def counter(self) -> ReasoningCount: ...


class DeepSeekR1ReasoningParser:
    """Everything up to `</think>` is reasoning, with `<think>` or without."""

    def __init__(self, variables: Mapping[str, object]) -> None:
        self.ended = False

    def feed(self, text: str) -> MessageDelta | None:
        reasoning, tag, content = _behind_start(text).partition(END)
        if not tag:
            return None if text == START else {"reasoning": reasoning}
        self.ended = True
        return None if text == END else {"content": content or None, "reasoning": reasoning}

    def split(self, text: str) -> Split:
        reasoning, _, content = _behind_start(text).partition(END)
        return reasoning, content or None

    def closed_by(self, prompt: str) -> bool:
        return prompt.rfind(END) > prompt.rfind(START)

    def counter(self) -> ReasoningCount:
        return _TokensBetweenTags()


class Qwen3ReasoningParser:
    """Reasoning up to `</think>`, or to a tool call; none if the chat template was told `enable_thinking` false."""

    def __init__(self, variables: Mapping[str, object]) -> None:
        self._thinking = bool(variables.get("enable_thinking", True))
        self.ended = not self._thinking

    def feed(self, text: str) -> MessageDelta | None:
        reasoning, content = self._split(text)
        self.ended = content is not None
        delta: MessageDelta = {}
        if content:
            delta["content"] = content
        if reasoning:
            delta["reasoning"] = reasoning
        return delta or None

    def split(self, text: str) -> Split:
        if not self._thinking:
            return None, text
        reasoning, content = self._split(text)
        return reasoning or None, content or None

    def closed_by(self, prompt: str) -> bool:
        return not self._thinking or max(prompt.rfind(END), prompt.rfind(TOOL_CALL)) > prompt.rfind(START)

    def counter(self) -> ReasoningCount:
        return _TokensBeforeEnd(self._thinking)

    def _split(self, text: str) -> tuple[str, str | None]:
        """Content None: the reasoning does not end here."""
        end = _QWEN3_END.search(text)
        if end is None:
            return text.replace(START, ""), None
        reasoning = text[: end.start()].replace(START, "")
        return reasoning, text[end.end() if end[0] == END else end.start() :]


class NoReasoning:
    """All is content (vLLM's identity parser)."""

    def __init__(self) -> None:
        self.ended = True

    def feed(self, text: str) -> MessageDelta | None:
        return {"content": text} if text else None

    def split(self, text: str) -> Split:
        return None, text

    def closed_by(self, prompt: str) -> bool:
        return True

    def counter(self) -> ReasoningCount:
        return _TokensBeforeEnd(thinking=False)


class _TokensBetweenTags:
    """Reasoning without `<think>` counts nothing; a block that never closes counts up to the end token."""

    def __init__(self) -> None:
        self.total = 0
        self._depth = 0

    def add(self, text: str | None) -> None:
        if text is not None and START in text:
            self._depth += 1
        elif text is not None and END in text:
            self._depth = max(0, self._depth - 1)
        elif self._depth:
            self.total += 1


class _TokensBeforeEnd:
    def __init__(self, thinking: bool) -> None:
        self.total = 0
        self._reasoning = thinking

    def add(self, text: str | None) -> None:
        if not self._reasoning or text is None:
            return
        if END in text or TOOL_CALL in text:
            self._reasoning = False
        elif START not in text:
            self.total += 1


def _behind_start(text: str) -> str:
    before, tag, behind = text.partition(START)
    return behind if tag else before
