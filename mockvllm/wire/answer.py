"""The one way from a choice's tokens to bytes. An endpoint adds only the shapes of its events and body (`Encoder`)."""

import sys
from collections.abc import Sequence
from typing import ClassVar

from mockvllm.wire.encoder import Encoder, End, Output, Said
from mockvllm.wire.errors import APIError

WHOLE = sys.maxsize
"""The interval of a stream whose choices are sent as one event each, the first token waiting like any other."""


class BaseAnswer:
    """What streams and whole bodies share."""

    cut_by_failure: ClassVar[bool] = False

    def __init__(self, encoder: Encoder, outputs: Sequence[Output], num_prompt_tokens: int, *, can_stop: bool) -> None:
        self.num_prompt_tokens = num_prompt_tokens
        self.can_stop = can_stop
        self._encoder = encoder
        self._outputs = outputs

    @property
    def num_completion_tokens(self) -> int:
        return sum([output.num_tokens for output in self._outputs])

    def completion_tokens(self, index: int) -> int:
        return self._outputs[index].num_tokens

    def stopped(self, index: int) -> tuple[str, str] | None:
        reason = self._outputs[index].stop_reason
        return None if reason is None else ("stop", reason)

    def begin(self) -> bytes:
        return b""

    def hold(self, index: int, n: int) -> None:
        self._outputs[index].advance(n)

    def failure(self, error: APIError) -> bytes:
        return self._encoder.failure(error)

    def _end(self, index: int, n: int, end: End) -> End:
        """Say the last tokens; a stop string that they complete goes before the engine's reason."""
        output = self._outputs[index]
        output.advance(n, silent_end=output.ends_silently(end.finish_reason, n))
        return end if output.stop_reason is None else End("stop", output.stop_reason)


class StreamAnswer(BaseAnswer):
    """Server-sent events. `interval`: the tokens that an event waits for, but for the first and the last."""

    def __init__(
        self, encoder: Encoder, outputs: Sequence[Output], num_prompt_tokens: int, *, can_stop: bool, interval: int = 1
    ) -> None:
        super().__init__(encoder, outputs, num_prompt_tokens, can_stop=can_stop)
        self._interval = interval
        self._opened = False
        plain = encoder.is_plain and not can_stop and interval == 1
        self._frames = [encoder.frame(index) for index in range(len(outputs))] if plain else None

    def chunks(self, index: int, n: int) -> bytes:
        output = self._outputs[index]
        if self._frames is None:
            return b"".join([self.merged(index, 1) for _ in range(n) if output.stop_reason is None])
        start = output.num_tokens
        output.num_tokens = stop = start + n
        pieces = output.pieces
        if stop > len(pieces):
            output.grow(stop)
        head, tail = self._frames[index]
        events = head + pieces[start] + tail if n == 1 else head + (tail + head).join(pieces[start:stop]) + tail
        return events if self._opened else self._opening() + events

    def merged(self, index: int, n: int) -> bytes:
        output = self._outputs[index]
        first = not output.num_tokens
        if self._frames is not None:
            output.skip()
        output.advance(n)
        if output.stop_reason is not None:
            return self._opening() + self._finish(index, End("stop", output.stop_reason))
        if output.num_waiting < self._interval and (not first or self._interval == WHOLE):
            return b""
        return self._opening() + self._encoder.delta(index, output.collect(), output.num_tokens)

    def finish(self, index: int, n: int, finish_reason: str, stop_reason: int | str | None) -> bytes:
        if self._frames is not None:
            self._outputs[index].skip()
        return self._opening() + self._finish(index, self._end(index, n, End(finish_reason, stop_reason)))

    def close(self) -> bytes:
        return self._encoder.closing(self.num_completion_tokens)

    def body(self) -> bytes:
        raise TypeError("a stream has no body")

    def broken(self, error: APIError) -> bytes:
        return self._opening() + self._encoder.failure(error)

    def _opening(self) -> bytes:
        if self._opened:
            return b""
        self._opened = True
        return self._encoder.opening()

    def _finish(self, index: int, end: End) -> bytes:
        output = self._outputs[index]
        return self._encoder.finish(index, output.collect(finished=True), output.num_tokens, end)


class WholeAnswer(BaseAnswer):
    """One JSON body. Tokens are only said when something must be known of their text, or at the end."""

    def __init__(self, encoder: Encoder, outputs: Sequence[Output], num_prompt_tokens: int, *, can_stop: bool) -> None:
        super().__init__(encoder, outputs, num_prompt_tokens, can_stop=can_stop)
        self._ends: dict[int, End] = {}

    def chunks(self, index: int, n: int) -> bytes:
        output = self._outputs[index]
        output.advance(n)
        if output.stop_reason is not None:
            self._ends[index] = End("stop", output.stop_reason)
        return b""

    merged = chunks

    def finish(self, index: int, n: int, finish_reason: str, stop_reason: int | str | None) -> bytes:
        self._ends[index] = self._end(index, n, End(finish_reason, stop_reason))
        return b""

    def close(self) -> bytes:
        return b""

    def broken(self, error: APIError) -> bytes:
        return self._encoder.error_body(error)

    def body(self) -> bytes:
        outputs = enumerate(self._outputs)
        return self._encoder.body([Said(output.collect(finished=True), self._ends[index]) for index, output in outputs])


class LastEventAnswer(WholeAnswer):
    """A body of which each choice is what a stream's last event would have said."""

    def chunks(self, index: int, n: int) -> bytes:
        super().chunks(index, n)
        if index not in self._ends:
            self._outputs[index].collect()
        return b""

    merged = chunks
