"""A server on a raw socket: reads a request, then a test's coroutine writes whatever bytes it likes, when it likes."""

import asyncio
import socket
import threading
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from types import TracebackType

from chat_streams import Timed


@dataclass
class Request:
    """What came, byte for byte; `gone` is set when the peer closes or resets the connection."""

    head: bytes
    body: bytes = b""
    gone: threading.Event = field(default_factory=threading.Event)

    @property
    def target(self) -> bytes:
        return self.head.split(b" ", 2)[1]

    @property
    def headers(self) -> list[tuple[bytes, bytes]]:
        lines = self.head.split(b"\r\n")[1:]
        return [(name.lower(), value.strip()) for name, _, value in (line.partition(b":") for line in lines) if name]

    def header(self, name: bytes) -> list[bytes]:
        return [value for header, value in self.headers if header == name]


class Peer:
    """The other end of one connection. Every write leaves as a packet of its own."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self.complete = False  # the answer has the end that HTTP wants
        self._writer = writer
        self._socket = writer.get_extra_info("socket")
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    async def write(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    async def head(self, *lines: bytes, status: bytes = b"200 OK") -> None:
        await self.write(b"\r\n".join([b"HTTP/1.1 " + status, *lines, b"", b""]))

    async def chunk(self, data: bytes) -> None:
        await self.write(b"%x\r\n%s\r\n" % (len(data), data))

    async def play(self, pieces: Iterable[Timed]) -> None:
        """Each piece as an HTTP chunk, at its time since now."""
        loop = asyncio.get_running_loop()
        start = loop.time()
        for at, data in pieces:
            if at > loop.time() - start:
                await asyncio.sleep(start + at - loop.time())
            await self.chunk(data)

    async def end(self) -> None:
        self.complete = True
        await self.write(b"0\r\n\r\n")

    def reset(self) -> None:
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        self._writer.transport.abort()

    async def sse(self, pieces: Iterable[Timed]) -> None:
        """A whole stream of events."""
        await self.head(b"content-type: text/event-stream; charset=utf-8", b"transfer-encoding: chunked")
        await self.play(pieces)
        await self.end()

    async def json(self, body: bytes, status: bytes = b"200 OK") -> None:
        await self.head(b"content-type: application/json", b"content-length: %d" % len(body), status=status)
        self.complete = True
        await self.write(body)


class Watch(asyncio.StreamReaderProtocol):
    """Notices that the peer is gone without reading what it sent."""

    def __init__(self, reader: asyncio.StreamReader, connected: Callable[..., Awaitable[None]]) -> None:
        super().__init__(reader, connected)
        self.gone = asyncio.Event()

    def eof_received(self) -> bool | None:
        self.gone.set()
        return super().eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        self.gone.set()
        super().connection_lost(exc)


Answer = Callable[[Request, Peer], Awaitable[None]]


class RawServer:
    """`with RawServer(answer) as server:` serves on a free loopback port from a thread of its own.

    The connection is kept after an answer that ended, and closed after one that returns without `end`.
    """

    def __init__(self, answer: Answer) -> None:
        self.requests: list[Request] = []
        self.hung_up = threading.Event()  # a peer was gone before its request was whole
        self._arrived = threading.Event()
        self._answer = answer
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)

    def __enter__(self) -> "RawServer":
        self._thread.start()
        self._server = asyncio.run_coroutine_threadsafe(self._start(), self._loop).result(5)
        self.port = self._server.sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result(5)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(5)
        self._loop.close()

    def wait_for_request(self) -> None:
        """Until the head of a request is in."""
        assert self._arrived.wait(5)

    async def _start(self) -> asyncio.Server:
        return await self._loop.create_server(lambda: Watch(asyncio.StreamReader(), self._serve), "127.0.0.1", 0)

    async def _stop(self) -> None:
        self._server.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await self._exchange(reader, writer):
                pass
        except (asyncio.IncompleteReadError, ConnectionError):
            self.hung_up.set()
        finally:
            writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        request, peer = await self._read(reader), Peer(writer)
        answer = asyncio.ensure_future(self._answer(request, peer))
        gone = asyncio.ensure_future(writer.transport.get_protocol().gone.wait())
        await asyncio.wait({answer, gone}, return_when=asyncio.FIRST_COMPLETED)
        if gone.done():
            request.gone.set()
        for task in (answer, gone):
            task.cancel()
        await asyncio.gather(answer, gone, return_exceptions=True)
        return peer.complete

    async def _read(self, reader: asyncio.StreamReader) -> Request:
        request = Request((await reader.readuntil(b"\r\n\r\n")).removesuffix(b"\r\n\r\n"))
        self.requests.append(request)
        self._arrived.set()
        if length := request.header(b"content-length"):
            request.body = await reader.readexactly(int(length[0]))
        elif request.header(b"transfer-encoding"):
            while size := int(await reader.readline(), 16):
                request.body += (await reader.readexactly(size + 2))[:-2]
            await reader.readline()
        return request
