"""`--sse-keep-alive-interval`: comments, so that no proxy takes a silent stream for a dead one (vLLM 0.30-0.33)."""

from collections.abc import Callable

from mockvllm.clock import Clock, Timer
from mockvllm.server.exchange import Sink
from mockvllm.server.journal import Entry

COMMENT = b": keep-alive\n\n"


class KeepAlive:
    """A stream's sink that writes a comment whenever nothing was written for `interval` seconds of the clock."""

    def __init__(self, sink: Sink, clock: Clock, interval: float, entry: Entry) -> None:
        self._sink = sink
        self._clock = clock
        self._interval = interval
        self._entry = entry
        self._is_blocked = False  # the stream waits for its reader: what is written is not read either
        self._timer = self._later()

    def ready(self, when_ready: Callable[[], None]) -> bool:
        def go_on() -> None:
            self._is_blocked = False
            when_ready()

        self._is_blocked = not self._sink.ready(go_on)
        return not self._is_blocked

    def write(self, payload: bytes, last: bool) -> None:
        self._timer.cancel()
        self._sink.write(payload, last)
        if not last:
            self._timer = self._later()

    def abort(self) -> None:
        self.stop()
        self._sink.abort()

    def stop(self) -> None:
        """No more comments: the stream has ended, or its client is gone."""
        self._timer.cancel()

    def _later(self) -> Timer:
        return self._clock.call_at(self._clock.now() + self._interval, self._comment)

    def _comment(self) -> None:
        if not self._is_blocked and self._sink.ready(_nothing):
            self._sink.write(COMMENT, False)
            self._entry.wrote(0, len(COMMENT))
        self._timer = self._later()


def _nothing() -> None:
    """Nobody waits for the sink."""
