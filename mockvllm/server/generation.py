"""From a POST to its tokens, for every endpoint that generates: prepare, journal, start, wait for the end."""

import logging
from collections.abc import AsyncIterator
from functools import partial
from typing import ClassVar, Protocol

from starlette.requests import Request
from starlette.responses import Response

from mockvllm.server.asgi import JSON, Headers, Message, Receive, Scope, Send, header, read_body, respond
from mockvllm.server.backend import Backend
from mockvllm.server.exchange import Exchange, Sink, Stream, Whole
from mockvllm.server.journal import Entry
from mockvllm.server.keep_alive import KeepAlive
from mockvllm.server.orca import ASKED, load_report
from mockvllm.server.protocol import Connection
from mockvllm.server.sinks import DrivenSink, QueueSink
from mockvllm.server.whole_response import WholeResponse
from mockvllm.wire.errors import APIError, UnexpectedError
from mockvllm.wire.prepared import Prepared

EVENT_STREAM: Headers = [(b"content-type", b"text/event-stream; charset=utf-8")]
STREAM_HEAD: Message = {"type": "http.response.start", "status": 200, "headers": EVENT_STREAM}
WHOLE_HEAD: Message = {"type": "http.response.start", "status": 200}


log = logging.getLogger(__name__)


class Prepare(Protocol):
    def __call__(self, body: bytes, headers: Headers, now: float) -> Prepared: ...


class Generation:
    """One generation endpoint. `prepare` is all that differs between them, and whether a header `tells_load` and a
    silent stream `keeps_alive`."""

    needs_task: ClassVar[bool] = False
    """True: it may wait for something else than its client."""

    def __init__(
        self, backend: Backend, prepare: Prepare, *, tells_load: bool = False, keeps_alive: bool = False
    ) -> None:
        self._backend = backend
        self._prepare = prepare
        self._tells_load = tells_load
        self._keep_alive_interval = backend.settings.sse_keep_alive_interval if keeps_alive else 0

    async def serve(self, scope: Scope, receive: Receive, send: Send, connection: Connection) -> None:
        """Under our own transport: the driver's tick writes, this coroutine only waits for the end."""
        body = await read_body(receive)
        if body is None:
            return
        entry = self._accept(scope, body)
        try:
            prepared = self._admit(entry, body)
        except APIError as error:
            await respond(send, error.status, error.body(), JSON, is_unexpected=isinstance(error, UnexpectedError))
            return
        detached = self.detached(entry, prepared)
        if detached is not None:
            await detached(scope, receive, send)
            return
        exchange: Exchange
        keeper: KeepAlive | None = None
        if prepared.stream:
            await send(dict(STREAM_HEAD))
            if prepared.failure is not None:
                await self._send_failure(entry, prepared, send, connection)
                await connection.over(receive)
                return
            sink = DrivenSink(send, connection)
            keeper = self._keep_alive(sink, entry)
            exchange = Stream(prepared, self._backend.driver, entry, keeper or sink)
        else:
            head = partial(self._whole_head, scope, entry)
            exchange = Whole(prepared, self._backend.driver, entry, DrivenSink(send, connection, head))
        exchange.start()
        self._backend.num_open_requests += 1
        try:
            await connection.over(receive)
        finally:
            if keeper is not None:
                keeper.stop()
            self._backend.num_open_requests -= 1
        if exchange.unfinished:
            entry.client_closed(connection.closed_by_peer or "fin")
            exchange.leave()

    async def endpoint(self, request: Request) -> Response:
        """Under any other ASGI server: an ordinary FastAPI route whose response waits for its bytes."""
        from mockvllm.server.event_stream import EventStream

        body = await request.body()
        entry = self._accept(request.scope, body)
        try:
            prepared = self._admit(entry, body)
        except APIError as error:
            return Response(error.body(), error.status, media_type="application/json")
        if prepared.failure is not None:
            return EventStream(_failed(self._fail(entry, prepared), cut=prepared.answer.cut_by_failure))
        detached = self.detached(entry, prepared)
        if detached is not None:
            return detached
        sink = QueueSink()
        keeper = self._keep_alive(sink, entry) if prepared.stream else None
        kind = Stream if prepared.stream else Whole
        exchange = kind(prepared, self._backend.driver, entry, keeper or sink)
        exchange.start()
        pieces = _leaving(exchange, entry, sink, keeper)
        if prepared.stream:
            return EventStream(pieces)
        return WholeResponse(pieces, partial(self._whole_head, request.scope, entry))

    def _keep_alive(self, sink: Sink, entry: Entry) -> KeepAlive | None:
        """What writes into a stream that is silent for too long, if anything is to."""
        if not self._keep_alive_interval:
            return None
        return KeepAlive(sink, self._backend.clock, self._keep_alive_interval, entry)

    def _whole_head(self, scope: Scope, entry: Entry) -> Message:
        return {**WHOLE_HEAD, "status": entry.status, "headers": [*JSON, *self._load(scope)]}

    def _load(self, scope: Scope) -> Headers:
        return load_report(header(scope, ASKED), self._backend.driver.core.engine) if self._tells_load else []

    def _accept(self, scope: Scope, body: bytes) -> Entry:
        entry = Entry(self._backend.clock.now, scope["method"], scope["path"], scope["headers"], body)
        entry.request_id = header(scope, b"x-request-id")
        self._backend.journal.add(entry)
        return entry

    def _admit(self, entry: Entry, body: bytes) -> Prepared:
        try:
            prepared = self._prepare(body, entry.headers, entry.accepted)
        except APIError as error:
            entry.status = error.status
            self._refused(body)
            raise
        except Exception as error:
            log.exception("%s %s", entry.method, entry.path)
            entry.status = 500
            raise APIError(500, str(error), "InternalServerError") from None
        entry.admit(prepared)
        if prepared.failure is not None:
            self._refused(body)
        return prepared

    def _refused(self, body: bytes) -> None:
        """A decode server tells the prefill server, which keeps blocks for the request (vLLM)."""
        if self._backend.kv_transfer is not None:
            self._backend.kv_transfer.discard(body)

    def detached(self, entry: Entry, prepared: Prepared) -> Response | None:
        """The response to a request whose answer is made without waiting for its client; None: for any other."""
        return None

    def _fail(self, entry: Entry, prepared: Prepared) -> bytes:
        """The engine refuses what the front end let through: an event in a stream that has begun (vLLM)."""
        assert prepared.failure is not None
        entry.failed = True
        payload = prepared.answer.failure(prepared.failure)
        entry.wrote(0, len(payload))
        return payload

    async def _send_failure(self, entry: Entry, prepared: Prepared, send: Send, connection: Connection) -> None:
        cut = prepared.answer.cut_by_failure
        await send({"type": "http.response.body", "body": self._fail(entry, prepared), "more_body": cut})
        if cut:
            connection.close()


async def _failed(payload: bytes, *, cut: bool) -> AsyncIterator[bytes]:
    yield payload
    if cut:
        raise ConnectionAbortedError("the stream is cut off by a failure")


async def _leaving(exchange: Exchange, entry: Entry, sink: QueueSink, keeper: KeepAlive | None) -> AsyncIterator[bytes]:
    try:
        async for piece in sink:
            yield piece
    finally:
        if keeper is not None:
            keeper.stop()
        if exchange.unfinished:
            entry.client_closed("fin")
            exchange.leave()
