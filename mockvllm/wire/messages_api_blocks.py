"""The content blocks of a stream of /v1/messages: opened by what is said, closed by what follows."""

import random
from typing import Any

from mockvllm.wire.jsontext import compact


def event(kind: str, **members: Any) -> bytes:
    """One server-sent event, whose type is also its name."""
    return b"event: %b\ndata: %b\n\n" % (kind.encode(), compact({"type": kind, **members}))


def signature() -> str:
    """Of a thinking block: there is nothing to sign, so it is random (vLLM)."""
    return f"{random.getrandbits(128):032x}"


class Blocks:
    """At most one block is open. Texts that come while a tool is being called wait until its block is closed."""

    def __init__(self) -> None:
        self._index = 0
        self._open: str | None = None
        self._call: int | None = None
        self._waiting = ""

    def text(self, text: str) -> bytes:
        if self._open == "tool_use":
            self._waiting += text
            return b""
        return self._opened("text", text="") + self._delta("text_delta", text=text)

    def reasoning(self, text: str) -> bytes:
        return self._opened("thinking", thinking="") + self._delta("thinking_delta", thinking=text)

    def call(self, call: int, id: str, name: str) -> bytes:
        closed = self.close()
        self._call = call
        return closed + self._start("tool_use", id=id, name=name, input={})

    def arguments(self, call: int, arguments: str) -> bytes:
        if self._open != "tool_use" or self._call != call:
            return b""
        return self._delta("input_json_delta", partial_json=arguments)

    def close(self) -> bytes:
        """End the open block, and say what has waited for that."""
        events = self._stop()
        if self._waiting:
            text, self._waiting = self._waiting, ""
            events += self.text(text) + self._stop()
        return events

    def _opened(self, kind: str, **content: Any) -> bytes:
        return b"" if self._open == kind else self.close() + self._start(kind, **content)

    def _start(self, kind: str, **content: Any) -> bytes:
        self._open = kind
        return event("content_block_start", content_block={"type": kind, **content}, index=self._index)

    def _delta(self, kind: str, **content: Any) -> bytes:
        return event("content_block_delta", delta={"type": kind, **content}, index=self._index)

    def _stop(self) -> bytes:
        if self._open is None:
            return b""
        signed = self._delta("signature_delta", signature=signature()) if self._open == "thinking" else b""
        stop = event("content_block_stop", index=self._index)
        self._open = None
        self._index += 1
        return signed + stop
