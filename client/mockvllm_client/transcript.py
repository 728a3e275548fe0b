"""One request as its client saw it: reads with their times, events, the answer, the end. No sockets: `stream` feeds it,
and so can a test.

Times are seconds since just before the request was sent.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

from mockvllm_client.chunks import Answer, Said
from mockvllm_client.measure import Record
from mockvllm_client.sse import Decoder, Event


class End(StrEnum):
    """How the body ended."""

    COMPLETE = "complete"
    INCOMPLETE = "eof"  # the peer closed before the end that HTTP wants
    RESET = "reset"
    IDLE = "idle"  # nothing came for as long as we wait
    OURS = "ours"  # we left


@dataclass(slots=True)
class Read:
    """One read of the socket: how much came, how many events it completed, and whether it ended between two events."""

    at: float
    size: int
    events: int
    whole: bool


@dataclass(frozen=True, slots=True)
class Arrival:
    """One event, with the time of the read that completed it."""

    at: float
    event: Event
    said: Said


class Transcript:
    """What came back for one request. `started_at` is Unix time: it puts these times on other people's clocks."""

    def __init__(self, started_at: float = 0.0, *, streamed: bool = True) -> None:
        self.started_at = started_at
        self.streamed = streamed
        self.status: int | None = None
        self.headers: Mapping[str, str] = {}
        self.headers_at: float | None = None
        self.reads: list[Read] = []
        self.arrivals: list[Arrival] = []
        self.answer = Answer()
        self.end: End | None = None
        self.ended_at: float | None = None
        self._decoder = Decoder()
        self._body = bytearray()
        self.sse = self._decoder.counts

    @property
    def body(self) -> str:
        """The body of an answer that is no stream of events."""
        return self._body.decode("utf-8", "replace")

    @property
    def content_type(self) -> str:
        """The media type without its parameters, in lower case; empty if none was sent."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    @property
    def token_times(self) -> list[float]:
        """When each token event arrived."""
        return [arrival.at for arrival in self.arrivals if arrival.said.is_token]

    def open(self, at: float, status: int, headers: Mapping[str, str]) -> None:
        """The head of the answer is in. Whatever a refusal says, it is no stream."""
        self.headers_at, self.status = at, status
        self.headers = {name.lower(): value for name, value in headers.items()}
        self.streamed = self.streamed and status == 200

    def feed(self, at: float, data: bytes) -> list[Arrival]:
        """Bytes came. Bytes with the time of the last ones are of the same read."""
        events = self._decoder.feed(data) if self.streamed else []
        if not self.streamed:
            self._body += data
        self._note_read(at, len(data), len(events))
        arrivals = [Arrival(at, event, self.answer.take(event.data)) for event in events]
        self.arrivals += arrivals
        return arrivals

    def close(self, at: float, end: End) -> None:
        """The body is over."""
        self.ended_at, self.end = at, end
        self._decoder.close()
        if not self.streamed and end is End.COMPLETE and self._body:
            self.answer.take(self.body)

    def first(self, what: str) -> float | None:
        """When the first `text` or `reasoning` came, if any did."""
        return next((arrival.at for arrival in self.arrivals if getattr(arrival.said, what)), None)

    def record(self) -> Record | None:
        """This request for the formulas; None without a token event. Tokens are those of `usage`; without it, each
        token event is one."""
        times = self.token_times
        if not times:
            return None
        return Record(
            start=0.0,
            ttft=times[0],
            latency=times[-1],
            itl=[later - earlier for earlier, later in pairwise(times)],
            prompt_tokens=self._used("prompt_tokens", 0),
            output_tokens=self._used("completion_tokens", len(times)),
        )

    def _used(self, name: str, otherwise: int) -> int:
        value = (self.answer.usage or {}).get(name)
        return value if isinstance(value, int) else otherwise

    def _note_read(self, at: float, size: int, events: int) -> None:
        if not self.reads or self.reads[-1].at != at:
            self.reads.append(Read(at, 0, 0, True))
        read = self.reads[-1]
        read.size += size
        read.events += events
        read.whole = not self._decoder.inside
