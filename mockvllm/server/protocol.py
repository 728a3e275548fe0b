"""uvicorn's HTTP protocol with a handle on the connection in the ASGI scope."""

from collections.abc import Callable
from typing import Any, Literal

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

EXTENSION = "mockvllm.connection"


class Connection:
    """What a route may know of, and do to, the connection under it."""

    __slots__ = ("closed_by_peer", "on_writable", "protocol", "writable")

    def __init__(self, protocol: "Protocol") -> None:
        self.protocol = protocol
        self.closed_by_peer: Literal["fin", "rst"] | None = None
        self.on_writable: Callable[[], None] | None = None
        self.writable = True  # False while the peer reads too slowly: the buffer is above its high-water mark

    def close(self) -> None:
        """Close once what is buffered has left, whatever of a response is missing."""
        self.protocol.transport.close()

    def abort(self) -> None:
        """Close at once, what is buffered is lost."""
        self.protocol.transport.abort()


class Protocol(HttpToolsProtocol):
    """Adds `scope["extensions"]["mockvllm.connection"]`, and records how the peer closed."""

    connection: Connection

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self.connection = Connection(self)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.scope["extensions"] = {EXTENSION: self.connection}  # type: ignore[dict-item]

    def eof_received(self) -> None:
        self.connection.closed_by_peer = "fin"

    def connection_lost(self, exc: Exception | None) -> None:
        if exc is not None:
            self.connection.closed_by_peer = "rst"
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        super().pause_writing()
        self.connection.writable = False

    def resume_writing(self) -> None:
        super().resume_writing()
        self.connection.writable = True
        on_writable, self.connection.on_writable = self.connection.on_writable, None
        if on_writable is not None:
            on_writable()


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
