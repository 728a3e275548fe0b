"""One HTTP request between the engine and its socket.

The driver hands each choice its tokens; the exchange turns them into bytes (`Answer`) and pushes these into a sink.
No task belongs to a stream: everything here runs inside the driver's tick, and nothing waits for a socket.
"""

import sys
from collections.abc import Callable
from typing import ClassVar, Protocol

from mockvllm.clock.driver import Driver
from mockvllm.engine import Request, RequestOutput
from mockvllm.server.journal import Entry
from mockvllm.wire.errors import APIError
from mockvllm.wire.prepared import Answer, Prepared


class Sink(Protocol):
    """Where an exchange's bytes go."""

    def ready(self, when_ready: Callable[[], None]) -> bool:
        """False while the peer cannot keep up; then `when_ready` is called once it can."""
        ...

    def write(self, payload: bytes, last: bool) -> None:
        """Hand over a piece of the response's body. Only when ready."""
        ...

    def abort(self) -> None:
        """End without an end."""
        ...


class Choice:
    """One of the answer's choices, the owner of its engine request."""

    __slots__ = ("ended", "exchange", "finish", "index", "pending", "request")

    def __init__(self, exchange: "Exchange", index: int, request: Request) -> None:
        self.exchange = exchange
        self.index = index
        self.request = request
        self.ended = False
        self.pending = 0
        self.finish: RequestOutput | None = None


class Exchange:
    """What streams and whole answers share: the choices, their end, and the client's leaving."""

    __slots__ = ("answer", "choices", "driver", "entry", "sink", "unfinished")
    max_tokens_per_result: ClassVar[int | None] = None  # as the engine has it

    def __init__(self, prepared: Prepared, driver: Driver, entry: Entry, sink: Sink) -> None:
        self.answer: Answer = prepared.answer
        self.driver = driver
        self.entry = entry
        self.sink = sink
        self.choices = [Choice(self, index, request) for index, request in enumerate(prepared.choices)]
        self.unfinished = len(self.choices)

    def start(self) -> None:
        for choice in self.choices:
            choice.request.owner = choice
            # A stop string ends the request with the token that completes it.
            choice.request.max_tokens_per_result = 1 if self.answer.can_stop else self.max_tokens_per_result
            self.driver.add(choice.request)

    def leave(self) -> None:
        """The client is gone: what is not finished is aborted at once."""
        for choice in self.choices:
            self.driver.abort(choice.request)
        self.let_go()

    def let_go(self) -> None:
        """Choice, exchange, answer and request know each other: untied, they need no garbage collector."""
        for choice in self.choices:
            choice.request.owner = None
        self.choices = []

    def fail(self) -> None:
        """A defect of ours: the client shall not wait for what cannot come."""
        self.entry.failed = True
        self.leave()
        self.unfinished = 0
        self.sink.abort()

    def give_up(self, error: APIError) -> None:
        """The engine gave up a choice: an error is the answer, or its end, and nobody waits for the others."""
        self.entry.failed = True
        self.unfinished = 0
        for choice in self.choices:
            self.driver.abort(choice.request)
        self._send_error(error)

    def _send_error(self, error: APIError) -> None:
        if self.sink.ready(lambda: self._send_error(error)):
            payload, cut = self.answer.broken(error), self.answer.cut_by_failure
            self.sink.write(payload, not cut)
            self.entry.wrote(0, len(payload))
            if cut:
                self.sink.abort()
            self.let_go()

    def deliver(self, choice: Choice, output: RequestOutput) -> None:
        raise NotImplementedError

    def check_stop(self, choice: Choice) -> None:
        """A stop string that is complete ends the choice before the engine knows, which is told (vLLM's front end)."""
        if self.answer.stopped(choice.index) is not None:
            choice.ended = True
            self.unfinished -= 1
            self.driver.abort(choice.request, "stop")


class Stream(Exchange):
    """Events as they come. While the peer cannot keep up tokens are only counted, and go out merged, as vLLM's do."""

    __slots__ = ("_backlog", "_can_stop", "_unsaid")

    def __init__(self, prepared: Prepared, driver: Driver, entry: Entry, sink: Sink) -> None:
        super().__init__(prepared, driver, entry, sink)
        self._backlog = False
        self._can_stop = prepared.answer.can_stop
        self._unsaid = 0  # tokens that are delivered and wait for an event to leave with (`stream_interval`)

    def start(self) -> None:
        beginning = self.answer.begin()
        if beginning:
            self.sink.write(beginning, False)
            self.entry.wrote(0, len(beginning))
        super().start()

    def deliver(self, choice: Choice, output: RequestOutput) -> None:
        """The hot path: tokens that are due, to a peer that keeps up."""
        num_tokens = output.num_new_tokens
        if self._backlog or not self.sink.ready(self._drain):
            self._hold_back(choice, output)
        elif output.finish_reason is not None:
            payload = self._chunks(choice, num_tokens - 1) if num_tokens > 1 else b""
            self._write(payload + self._finish(choice, output, min(num_tokens, 1)), num_tokens)
        elif self._can_stop:
            self._write(self._chunks(choice, num_tokens), num_tokens)
        elif payload := self.answer.chunks(choice.index, num_tokens):
            self.sink.write(payload, False)
            self.entry.wrote(num_tokens + self._unsaid, len(payload))
            self._unsaid = 0
        else:
            self._unsaid += num_tokens

    def _chunks(self, choice: Choice, num_tokens: int) -> bytes:
        payload = self.answer.chunks(choice.index, num_tokens)
        if self._can_stop:
            self.check_stop(choice)
        return payload

    def _finish(self, choice: Choice, output: RequestOutput, num_tokens: int) -> bytes:
        if choice.ended:  # by a stop string among the tokens that came with the end
            return b""
        choice.ended = True
        self.unfinished -= 1
        return self.answer.finish(choice.index, num_tokens, output.finish_reason or "abort", output.stop_reason)

    def _write(self, payload: bytes, num_tokens: int) -> None:
        last = not (self.unfinished or any(choice.pending or choice.finish for choice in self.choices))
        if last:
            payload += self.answer.close()
        num_tokens += self._unsaid
        self._unsaid = 0 if payload else num_tokens
        if payload:
            self.sink.write(payload, last)
            self.entry.wrote(num_tokens, len(payload))
        if last:
            self.let_go()

    def _hold_back(self, choice: Choice, output: RequestOutput) -> None:
        self._backlog = True
        choice.pending += output.num_new_tokens
        if output.finish_reason is not None:
            choice.finish = output
        elif self._can_stop:  # a stop string ends the request whether its reader keeps up or not
            self.answer.hold(choice.index, output.num_new_tokens)
            self.check_stop(choice)

    def _drain(self) -> None:
        """The peer reads again: what piled up goes out, one event a choice, until it is full again."""
        self._backlog = False
        for choice in self.choices:
            if not (choice.pending or choice.finish):
                continue
            if not self.sink.ready(self._drain):
                self._backlog = True
                return
            self._flush(choice)

    def _flush(self, choice: Choice) -> None:
        pending, choice.pending = choice.pending, 0
        finish, choice.finish = choice.finish, None
        if finish is not None:
            self._write(self._finish(choice, finish, finish.num_new_tokens if self._can_stop else pending), pending)
        else:
            self._write(self.answer.merged(choice.index, 0 if self._can_stop else pending), pending)


class Whole(Exchange):
    """One JSON body, when every choice has ended."""

    __slots__ = ()
    max_tokens_per_result = sys.maxsize  # nobody sees how many came at once

    def give_up(self, error: APIError) -> None:
        self.entry.status = error.status
        super().give_up(error)

    def deliver(self, choice: Choice, output: RequestOutput) -> None:
        if output.finish_reason is not None:
            choice.ended = True
            self.unfinished -= 1
            self.answer.finish(choice.index, output.num_new_tokens, output.finish_reason, output.stop_reason)
        else:
            self.answer.merged(choice.index, output.num_new_tokens)
            if self.answer.can_stop:
                self.check_stop(choice)
        if not self.unfinished:
            self._send()

    def _send(self) -> None:
        """The body, once the peer has read what a request before this one on its connection was answered."""
        if self.sink.ready(self._send):
            body = self.answer.body()
            self.sink.write(body, True)
            self.entry.wrote(self.answer.num_completion_tokens, len(body))
            self.let_go()
