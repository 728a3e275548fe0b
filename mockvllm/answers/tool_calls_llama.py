"""Calls as bare JSON objects, as vLLM's tool parser `llama3_json` finds them (0.30 to 0.33)."""

import json
from typing import Any

from partial_json_parser import ALL, STR, Allow, loads  # type: ignore[import-untyped]

from mockvllm.answers.tool_calls import Message, MessageDelta, ToolCall, ToolCallDelta, ToolFormat, is_json

PYTHON_TAG = "<|python_tag|>"
_SEPARATOR = "; "
_NO_PARTIAL_STRINGS = ALL & ~STR
_decode = json.JSONDecoder().raw_decode

Object = dict[str, Any]


class Llama3JsonToolParser:
    """A text that begins with an object holds calls, separated by `; `; any other is content.

    What can be known of the arguments leaves as `json.dumps` writes it. vLLM completes the text so far to a JSON text
    with the package used here, whose mistakes are therefore its own: what confuses it says nothing.
    """

    def __init__(self) -> None:
        self._text = ""
        self._index = -1
        self._named = False
        self._sent: list[str] = []  # arguments, for each call
        self._known: list[Object] = []

    def feed(self, text: str) -> MessageDelta | None:
        self._text += text
        if not self._text.startswith((PYTHON_TAG, "{")):
            return {"content": text}
        try:
            delta = self._next()
        except Exception:  # whatever the package or an unexpected value raises, vLLM takes for "not yet"
            return None
        return None if delta is None else {"tool_calls": [delta]}

    def rest(self) -> str:
        if not self._known:
            return ""
        last = len(self._known) - 1
        arguments = self._known[last].get("arguments", {})
        implied = arguments if isinstance(arguments, str) else _dumps(arguments)
        sent = self._sent[last] if last < len(self._sent) else ""
        return implied[len(sent) :] if implied.startswith(sent) else ""

    def parse(self, text: str) -> Message:
        try:
            calls = _calls(text)
        except (ValueError, KeyError):
            calls = []
        return Message(None, calls) if calls else Message(text)

    def _next(self) -> ToolCallDelta | None:
        """The next thing that is known and has not been said. Raises what the text so far provokes."""
        calls, complete = self._partial_calls()
        if len(calls) > self._index + 1:
            return self._turn_to_last(calls)
        if not calls:
            return None
        call, delta = calls[self._index], None
        if not self._named:
            delta = self._name(call)
        elif call.get("arguments"):
            delta = self._more(call["arguments"], complete[self._index])
        self._known = calls
        return delta

    def _partial_calls(self) -> tuple[list[Object], list[bool]]:
        """The calls so far, the last one perhaps unfinished, and which are complete."""
        calls, complete = [], []
        start = len(PYTHON_TAG) if self._text.startswith(PYTHON_TAG) else 0
        while start < len(self._text):
            call, size = _partial(self._text[start:], ALL if self._named else _NO_PARTIAL_STRINGS)
            complete.append(is_json(self._text[start : start + size]))
            start += size + len(_SEPARATOR)
            if "parameters" in call:
                if "arguments" in call:
                    raise ValueError("both parameters and arguments")
                call["arguments"] = call["parameters"]
            calls.append(call)
        return calls, complete

    def _turn_to_last(self, calls: list[Object]) -> ToolCallDelta | None:
        """Another call has begun: what is missing of the one before."""
        left = calls[self._index].get("arguments") if self._index >= 0 else None
        delta = self._say(_dumps(left)) if left else None
        self._index, self._named = len(calls) - 1, False
        self._sent.append("")
        return delta

    def _name(self, call: Object) -> ToolCallDelta | None:
        name = call.get("name")
        if not name or not isinstance(name, str):
            return None
        self._named = True
        return ToolCallDelta(self._index, name=name)

    def _more(self, arguments: Any, complete: bool) -> ToolCallDelta | None:
        """The arguments as far as they cannot change: up to where two readings in a row agree."""
        known = _dumps(arguments)
        if complete:
            return self._say(known)
        before = self._known[self._index].get("arguments")
        if not before or _dumps(before) == known:
            return None
        return self._say(_common_prefix(_dumps(before), known))

    def _say(self, arguments: str) -> ToolCallDelta:
        more = arguments[len(self._sent[self._index]) :]
        self._sent[self._index] += more
        return ToolCallDelta(self._index, arguments=more)


LLAMA3_JSON = ToolFormat(
    "llama3_json",
    Llama3JsonToolParser,
    envelopes=(('{"name": "', '", "parameters": ', "}"),),
    trigger='{"name": ',
    text_between=True,
    shows_special_tokens=False,
)


def _partial(text: str, allow: Allow) -> tuple[Any, int]:
    """The JSON value that `text` begins with, completed if need be, and how much of the text it takes."""
    try:
        return loads(text, allow), len(text)
    except json.JSONDecodeError as error:
        if "Extra data" not in error.msg:
            raise
        return _decode(text)


def _calls(text: str) -> list[ToolCall]:
    """Every object of `text` that is in no other. Raises ValueError: no JSON; KeyError: no call."""
    calls = []
    start = text.find("{")
    while start >= 0:
        call, end = _decode(text, start)
        arguments = call["arguments"] if "arguments" in call else call["parameters"]
        calls.append(ToolCall(call["name"], _dumps(arguments)))
        start = text.find("{", end)
    return calls


def _dumps(arguments: Any) -> str:
    return json.dumps(arguments, ensure_ascii=False)


def _common_prefix(one: str, other: str) -> str:
    different = (at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b)
    return one[: next(different, min(len(one), len(other)))]
