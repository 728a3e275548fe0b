"""What the backend really received, sent, and when it was cancelled: a bounded ring of entries, one a request."""

import time
from array import array
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal

import msgspec

from mockvllm.engine import Engine, EngineListener, Request
from mockvllm.server.asgi import Headers
from mockvllm.wire.prepared import Prepared

SECRETS = frozenset((b"authorization", b"proxy-authorization", b"x-api-key", b"api-key", b"cookie"))
BODY_LIMIT = 1 << 20  # bytes of one request's body
BODIES_LIMIT = 64 << 20  # bytes of all bodies: beyond, the oldest requests lose theirs


class ChoiceRecord(msgspec.Struct, frozen=True, gc=False):
    """One engine request, as it stands or as it ended. Times are the clock's seconds."""

    queued_at: float | None
    scheduled_at: float | None
    first_token_at: float | None
    ended_at: float | None
    finish_reason: str | None
    num_prompt_tokens: int
    num_cached_tokens: int
    num_output_tokens: int
    num_preemptions: int
    num_blocks: int


class Entry:
    """One request. `wrote` is called for every write and keeps its time, tokens and bytes in a flat array."""

    __slots__ = (
        "_choices", "_now", "_writes", "accepted", "accepted_at", "body", "closed", "failed",
        "free_blocks_after", "headers", "id", "method", "model", "num_body_bytes", "path", "request_id", "script",
        "status", "stream",
    )  # fmt: skip

    def __init__(self, now: Callable[[], float], method: str, path: str, headers: Headers, body: bytes) -> None:
        self._now = now
        self.accepted = now()
        self.accepted_at = time.time()
        self.method = method
        self.path = path
        self.headers = headers
        self.body = body if len(body) <= BODY_LIMIT else body[:BODY_LIMIT]
        self.num_body_bytes = len(body)
        self.id = ""
        self.request_id: bytes | None = None
        self.model: str | None = None
        self.stream = False
        self.status = 0
        self.script: Mapping[str, Any] = {}
        self.closed: tuple[float, Literal["fin", "rst"]] | None = None
        self.failed = False
        self.free_blocks_after: int | None = None
        self._choices: list[Request | ChoiceRecord] = []
        self._writes = array("d")  # time, tokens, bytes; time, tokens, bytes; ...

    def admit(self, prepared: Prepared) -> None:
        """It is valid and goes to the engine."""
        self.id = prepared.request_id
        self.model = prepared.model
        self.stream = prepared.stream
        self.status = 200
        self.script = prepared.script
        self._choices = list(prepared.choices)

    def ended(self, request: Request, num_blocks: int) -> None:
        """Keep what counts of a choice, and let go of its tokens."""
        self._choices[self._choices.index(request)] = record_of(request, num_blocks)

    def wrote(self, num_tokens: int, num_bytes: int) -> None:
        note = self._writes.append
        note(self._now())
        note(num_tokens)
        note(num_bytes)

    def client_closed(self, how: Literal["fin", "rst"]) -> None:
        self.closed = (self._now(), how)

    def writes(self) -> Iterator[tuple[float, int, int]]:
        """(clock time, tokens, bytes) of each write."""
        writes = self._writes
        return zip(writes[0::3], map(int, writes[1::3]), map(int, writes[2::3]), strict=True)

    @property
    def tokens_written(self) -> int:
        return int(sum(self._writes[1::3]))

    def records(self) -> list[ChoiceRecord]:
        return [
            choice if isinstance(choice, ChoiceRecord) else record_of(choice, len(choice.block_ids))
            for choice in self._choices
        ]

    @property
    def state(self) -> str:
        """`queued`, `running`, `finished`, `rejected`, `failed`; `aborted_client`, `_queued` (a client), `_server`."""
        records = self.records()
        if not records:
            return "rejected" if self.status >= 400 else "failed" if self.failed else "queued"
        if any(record.ended_at is None for record in records):
            return "queued" if all(record.scheduled_at is None for record in records) else "running"
        if self.failed:
            return "failed"
        if all(record.finish_reason != "abort" for record in records):
            return "finished"
        if self.closed is None:
            return "aborted_server"
        return "aborted_queued" if all(record.scheduled_at is None for record in records) else "aborted_client"


def record_of(request: Request, num_blocks: int) -> ChoiceRecord:
    return ChoiceRecord(
        request.queued_at,
        request.scheduled_at,
        request.first_token_at,
        request.finished_at,
        request.finish_reason,
        request.num_prompt_tokens,
        request.num_cached_tokens,
        request.num_output_tokens,
        request.num_preemptions,
        num_blocks,
    )


class Journal(EngineListener):
    """The last `size` requests. It hears of their ends from the engine, as everybody does."""

    def __init__(self, size: int, block_size: int) -> None:
        self.size = size
        self.block_size = block_size
        self._engine: Engine | None = None
        self._entries: deque[Entry] = deque(maxlen=size)
        self._bodies: deque[Entry] = deque(maxlen=size)
        self._num_body_bytes = 0

    def watch(self, engine: Engine) -> None:
        """The engine whose free blocks are noted when a request ends."""
        self._engine = engine

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._entries)

    def __reversed__(self) -> Iterator[Entry]:
        return reversed(self._entries)

    def add(self, entry: Entry) -> None:
        if len(self._bodies) == self.size:
            self._forget_oldest_body()
        self._entries.append(entry)
        self._bodies.append(entry)
        self._num_body_bytes += len(entry.body)
        while self._num_body_bytes > BODIES_LIMIT:
            self._forget_oldest_body()

    def _forget_oldest_body(self) -> None:
        if self._bodies:
            entry = self._bodies.popleft()
            self._num_body_bytes -= len(entry.body)
            entry.body = b""

    def find(self, wanted: str) -> Entry | None:
        """The newest entry with this response id, or with this X-Request-Id."""
        for entry in reversed(self._entries):
            if entry.id == wanted or entry.request_id == wanted.encode():
                return entry
        return None

    def clear(self) -> None:
        self._entries.clear()
        self._bodies.clear()
        self._num_body_bytes = 0

    def finished(self, request: Request, num_blocks: int, now: float) -> None:
        entry: Entry = request.owner.exchange.entry
        entry.ended(request, num_blocks)
        entry.free_blocks_after = self._engine.num_free_blocks if self._engine else None
