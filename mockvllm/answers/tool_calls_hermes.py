"""Calls between `<tool_call>` tags, as vLLM's tool parser `hermes` finds them (0.30 to 0.33)."""

import json
import re

from mockvllm.answers.tool_calls import Message, MessageDelta, ToolCall, ToolCallDelta, ToolFormat, is_json

START = "<tool_call>"
END = "</tool_call>"
_CALL = re.compile(r"<tool_call>(.*?)</tool_call>|<tool_call>(.*)", re.DOTALL)
_NAME = re.compile(r'"name"\s*:\s*"([^"]+)"')
_ARGUMENTS = re.compile(r'"arguments"\s*:\s*')


class HermesToolParser:
    """Arguments leave as they stand in the text, without the brace that closes the call around them.

    Text behind the first call is dropped; a call without a name hides those behind it.
    """

    def __init__(self) -> None:
        self._text = ""
        self._start = 0  # of what is yet to be looked at: content, or the body of the open call
        self._index = -1  # the open call, or the last one
        self._open = False
        self._named = False
        self._num_sent = 0  # characters of the open call's arguments

    def feed(self, text: str) -> MessageDelta | None:
        self._text += text
        content = self._content() if self._index < 0 else None
        calls: list[ToolCallDelta] = []
        while self._open or self._opens():
            calls += self._call_deltas()
            if self._open or not self._named:
                break
        if calls:
            return {"content": content, "tool_calls": calls}
        return {"content": content} if content else None

    def rest(self) -> str:
        return ""

    def parse(self, text: str) -> Message:
        bodies = [closed or unclosed for closed, unclosed in _CALL.findall(text)]
        if not bodies:
            return Message(text)
        try:
            calls = [_call(body) for body in bodies]
        except (ValueError, KeyError, TypeError):
            return Message(text)
        content = text[: text.index(START)]
        return Message(content if content.strip() else None, calls)

    def _content(self) -> str | None:
        """What stands before the first call and has not been said; what may begin a tag is held back."""
        at = self._text.find(START, self._start)
        end = at if at >= 0 else len(self._text) - _overlap(self._text, START)
        content, self._start = self._text[self._start : end], max(self._start, end)
        return content or None

    def _opens(self) -> bool:
        """Whether another call begins."""
        at = self._text.find(START, self._start)
        if at < 0 or (self._index >= 0 and not self._named):
            return False
        self._start = at + len(START)
        self._open, self._named, self._num_sent = True, False, 0
        self._index += 1
        return True

    def _call_deltas(self) -> list[ToolCallDelta]:
        deltas = []
        body, complete = self._body()
        if not self._named:
            name = _NAME.search(body)
            if name is None:
                return []
            self._named = True
            deltas.append(ToolCallDelta(self._index, name=name[1]))
        arguments = _arguments(body, complete)
        if len(arguments) > self._num_sent:
            deltas.append(ToolCallDelta(self._index, arguments=arguments[self._num_sent :]))
            self._num_sent = len(arguments)
        return deltas

    def _body(self) -> tuple[str, bool]:
        """What the open call says so far, and whether that is all. The call is closed by its end tag alone."""
        end = self._text.find(END, self._start)
        if end < 0:
            body = self._text[self._start : len(self._text) - _overlap(self._text, END)].strip()
            return body, body.endswith("}") and is_json(body)
        body = self._text[self._start : end].strip()
        self._start, self._open = end + len(END), False
        return body, True


HERMES = ToolFormat(
    "hermes",
    HermesToolParser,
    envelopes=(
        ('<tool_call>\n{"name": "', '", "arguments": ', "}\n</tool_call>"),
        ('<tool_call>{"name": "', '", "arguments": ', "}</tool_call>"),
    ),
    trigger=START,
    text_between=False,
    shows_special_tokens=True,
)


def _call(body: str) -> ToolCall:
    call = json.loads(body)
    return ToolCall(call["name"], json.dumps(call["arguments"], ensure_ascii=False))


def _arguments(body: str, complete: bool) -> str:
    found = _ARGUMENTS.search(body)
    if found is None:
        return ""
    arguments = body[found.end() :]
    return arguments.rstrip().removesuffix("}").rstrip() if complete else arguments


def _overlap(text: str, tag: str) -> int:
    """Characters at the end of `text` that may begin `tag`."""
    longest = min(len(text), len(tag) - 1)
    return next((size for size in range(longest, 0, -1) if text.endswith(tag[:size])), 0)
