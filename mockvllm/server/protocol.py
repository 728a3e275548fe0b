"""uvicorn's HTTP protocol with a handle on the connection in the ASGI scope."""

from collections.abc import Callable, Coroutine
from typing import Any, ClassVar, Literal

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from mockvllm.server.asgi import Receive
from mockvllm.server.pause import pause, rest

EXTENSION = "mockvllm.connection"


class Connection:
    """What a route may know of, and do to, the connection under it."""

    __slots__ = ("closed_by_peer", "has_no_task", "on_writable", "protocol", "writable")

    def __init__(self, protocol: "Protocol") -> None:
        self.protocol = protocol
        self.closed_by_peer: Literal["fin", "rst"] | None = None
        self.on_writable: Callable[[], None] | None = None
        self.writable = True  # False while the peer reads too slowly: the buffer is above its high-water mark
        self.has_no_task = False  # whoever serves the request

    async def over(self, receive: Receive) -> None:
        """Until the response is complete or the peer has left."""
        if self.has_no_task:
            if not self.protocol.is_over:
                await pause()
        else:
            while (await receive())["type"] != "http.disconnect":
                pass

    def close(self) -> None:
        """Close once what is buffered has left, whatever of a response is missing."""
        self.protocol.transport.close()

    def abort(self) -> None:
        """Close at once, what is buffered is lost."""
        self.protocol.transport.abort()


class Protocol(HttpToolsProtocol):
    """Adds `scope["extensions"]["mockvllm.connection"]`, and records how the peer closed.

    POSTs to `taskless_paths` wait for nothing but `Connection.over`: once their body is here they run without a task.
    """

    taskless_paths: ClassVar[frozenset[str]] = frozenset()
    connection: Connection
    _paused: Coroutine[Any, Any, None] | None = None
    _served: RequestResponseCycle | None = None  # while requests are pipelined, `cycle` is the last of them

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self.connection = Connection(self)

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        scope, self._served = cycle.scope, cycle
        self.connection.has_no_task = False
        if scope["method"] == "POST" and scope["path"] in self.taskless_paths:
            self.loop.call_soon(self._start, cycle, app)
        else:
            super()._start_asgi_task(cycle, app)

    def _start(self, cycle: RequestResponseCycle, app: Any) -> None:
        connection = self.connection
        connection.has_no_task = not cycle.more_body
        if connection.has_no_task:
            self._run(cycle.run_asgi(app))
        else:
            super()._start_asgi_task(cycle, app)

    def _run(self, coroutine: Coroutine[Any, Any, None]) -> None:
        try:
            waits_for = coroutine.send(None)
        except StopIteration:
            return
        if waits_for is None:
            self._paused = coroutine
        else:  # for a peer that reads too slowly
            self.connection.has_no_task = False
            task = self.loop.create_task(rest(coroutine, waits_for))
            task.add_done_callback(self.tasks.discard)
            self.tasks.add(task)

    @property
    def is_over(self) -> bool:
        """Nothing more happens to the request that is served."""
        return self._served is None or self._served.response_complete or self._served.disconnected

    def _over(self) -> None:
        coroutine, self._paused = self._paused, None
        if coroutine is not None:
            self._run(coroutine)

    def on_response_complete(self) -> None:
        self._over()
        super().on_response_complete()  # which may start the next request

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.scope["extensions"] = {EXTENSION: self.connection}  # type: ignore[dict-item]

    def eof_received(self) -> None:
        self.connection.closed_by_peer = "fin"

    def connection_lost(self, exc: Exception | None) -> None:
        if exc is not None:
            self.connection.closed_by_peer = "rst"
        super().connection_lost(exc)
        if self._served is not None and not self._served.response_complete:
            self._served.disconnected = True
        self._over()

    def pause_writing(self) -> None:
        super().pause_writing()
        self.connection.writable = False

    def resume_writing(self) -> None:
        super().resume_writing()
        self.connection.writable = True
        on_writable, self.connection.on_writable = self.connection.on_writable, None
        if on_writable is not None:
            on_writable()


def protocol_of(taskless_paths: frozenset[str]) -> type[Protocol]:
    """What uvicorn is to make of each connection."""
    return type("TasklessProtocol", (Protocol,), {"taskless_paths": taskless_paths})


def connection(scope: Any) -> Connection | None:
    """The handle, or None under another ASGI server or the in-process transport."""
    found = (scope.get("extensions") or {}).get(EXTENSION)
    return found if isinstance(found, Connection) else None


def cycle_of(send: Any) -> RequestResponseCycle | None:
    """The request and response whose own `send` this is; None if it is something else."""
    cycle = getattr(send, "__self__", None)
    return cycle if isinstance(cycle, RequestResponseCycle) else None


class Gathering:
    """What a response sends within this context leaves in one write: the peer wakes once for a head and its body.

    It stands in for the transport of a connection that stays open."""

    __slots__ = ("_cycle", "_pieces", "_transport", "write")

    def __init__(self, cycle: RequestResponseCycle) -> None:
        self._cycle = cycle
        self._transport = cycle.transport
        self._pieces: list[bytes] = []
        self.write = self._pieces.append

    def __enter__(self) -> None:
        self._cycle.transport = self  # type: ignore[assignment]

    def __exit__(self, *exc_info: object) -> None:
        self._cycle.transport = self._transport
        self._transport.write(b"".join(self._pieces))
