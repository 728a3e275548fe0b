"""What our transport is given, write by write, by the whole server under uvicorn's protocol."""

import asyncio
import json
from typing import Any

import pytest
import uvicorn
from uvicorn.server import ServerState

from mockvllm.server.app import build_app
from mockvllm.server.build import build_backend
from mockvllm.server.protocol import Protocol
from mockvllm.settings import load
from tests.server.harness import CHAT, chat, settle


class Wire(asyncio.Transport):
    """The far end of a connection: keeps each write."""

    def __init__(self) -> None:
        super().__init__()
        self.writes: list[bytes] = []
        self.closed = False

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return ("127.0.0.1", 50000) if name in ("peername", "sockname") else default

    def write(self, data: Any) -> None:
        assert not self.closed
        self.writes.append(bytes(data))

    def close(self) -> None:
        self.closed = True

    def is_closing(self) -> bool:
        return self.closed

    def pause_reading(self) -> None:
        pass

    def resume_reading(self) -> None:
        pass


def request(header: str = "", **fields: Any) -> bytes:
    body = json.dumps(chat(model="mock", max_tokens=3, **fields)).encode()
    return b"POST %b HTTP/1.1\r\nHost: mock\r\nContent-Type: application/json\r\n%bContent-Length: %d\r\n\r\n%b" % (
        CHAT.encode(),
        header.encode(),
        len(body),
        body,
    )


async def answered(*requests: bytes) -> Wire:
    settings, environment = load(
        ["--served-model-name", "mock", "--ttft-ms", "0", "--itl-ms", "0", "--events-per-write", "1"], {}
    )
    backend = build_backend(settings, environment, asyncio.get_running_loop())
    app = build_app(backend).asgi
    config = uvicorn.Config(app, http=Protocol, interface="asgi3", ws="none", lifespan="off", log_level="critical")
    config.load()
    protocol, wire = Protocol(config, ServerState(), {}), Wire()
    protocol.connection_made(wire)
    protocol.data_received(b"".join(requests))
    for _ in range(20):
        await settle()
    return wire


async def test_a_whole_answer_is_one_write() -> None:
    wire = await answered(request(), request())
    assert len(wire.writes) == 2
    for write in wire.writes:
        head, _, body = write.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200 OK")
        assert b"content-length: %d" % len(body) in head
        assert json.loads(body)["usage"]["completion_tokens"] == 3
    assert not wire.closed


@pytest.mark.parametrize("more", [(), (request(),)], ids=["alone", "with another behind it"])
async def test_the_last_answer_of_a_connection_is_whole_before_it_closes(more: tuple[bytes, ...]) -> None:
    wire = await answered(request("Connection: close\r\n"), *more)
    head, _, body = b"".join(wire.writes).partition(b"\r\n\r\n")
    assert b"connection: close" in head
    assert json.loads(body)["usage"]["completion_tokens"] == 3
    assert wire.closed


async def test_every_write_of_a_stream_is_a_chunk() -> None:
    wire = await answered(request(stream=True))
    head, *chunks = wire.writes
    assert b"transfer-encoding: chunked" in head
    assert chunks[-1].endswith(b"data: [DONE]\n\n\r\n0\r\n\r\n")
    assert len(chunks) > 1
    for chunk in chunks:
        size, _, rest = chunk.partition(b"\r\n")
        assert rest[int(size, 16) :].removesuffix(b"0\r\n\r\n") == b"\r\n"
        assert rest[int(size, 16) - 2 : int(size, 16)] == b"\n\n"
