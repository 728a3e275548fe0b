"""How bytes reach the client: `send` driven by hand under our own transport, a generator under any other server."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import nullcontext

from mockvllm.server.asgi import Message, Send, body_send, with_length
from mockvllm.server.protocol import Connection, Gathering, cycle_of


class DrivenSink:
    """Runs ASGI's `send` coroutine to its end on the spot: no task, no queue, no wake-up a token.

    uvicorn's `send` only waits while the transport's buffer is full, and then `ready` has said no. Where nothing stands
    between us and uvicorn, a piece in the midst of a body is written as the chunk that uvicorn would make of it.
    """

    __slots__ = ("_connection", "_cycle", "_head", "_send")

    def __init__(self, send: Send, connection: Connection, head: Callable[[], Message] | None = None) -> None:
        """`head`: makes the start of a response that is sent with its body, at the last moment."""
        self._send = send
        self._connection = connection
        self._head = head
        self._cycle = cycle_of(body_send(send))

    def ready(self, when_ready: Callable[[], None]) -> bool:
        if self._connection.writable:
            return True
        self._connection.on_writable = when_ready
        return False

    def write(self, payload: bytes, last: bool) -> None:
        cycle = self._cycle
        if self._head is not None:
            with Gathering(cycle) if cycle is not None and cycle.keep_alive else nullcontext():
                self._drive(with_length(self._head(), payload))
                self._drive({"type": "http.response.body", "body": payload})
        elif last or cycle is None:
            self._drive({"type": "http.response.body", "body": payload, "more_body": not last})
        elif not cycle.disconnected:
            cycle.transport.write(b"%x\r\n%b\r\n" % (len(payload), payload))

    def abort(self) -> None:
        self._connection.abort()

    def _drive(self, message: Message) -> None:
        try:
            self._send(message).send(None)  # type: ignore[attr-defined]
        except StopIteration:
            return
        self.abort()
        raise RuntimeError("send() waited although the connection was writable")


class QueueSink:
    """For servers that are not ours: pieces wait here until the response's own task takes them."""

    __slots__ = ("_arrived", "_last", "_pieces", "_when_ready")

    def __init__(self) -> None:
        self._arrived = asyncio.Event()
        self._pieces: list[bytes] = []
        self._last = False
        self._when_ready: Callable[[], None] | None = None

    def ready(self, when_ready: Callable[[], None]) -> bool:
        if not self._pieces:
            return True
        self._when_ready = when_ready
        return False

    def write(self, payload: bytes, last: bool) -> None:
        self._pieces.append(payload)
        self._last = last
        self._arrived.set()

    def abort(self) -> None:
        self._last = True
        self._arrived.set()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while True:
            await self._arrived.wait()
            self._arrived.clear()
            pieces, self._pieces = self._pieces, []
            for piece in pieces:
                yield piece
            if self._last:
                return
            if self._when_ready is not None:
                when_ready, self._when_ready = self._when_ready, None
                when_ready()
