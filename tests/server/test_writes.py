"""What our transport is given, write by write, by the whole server under uvicorn's protocol."""

import asyncio
import json
from typing import Any

import pytest
import uvicorn
from uvicorn.server import ServerState

from mockvllm.server.app import build_app
from mockvllm.server.build import build_backend
from mockvllm.server.pause import pause, rest
from mockvllm.server.protocol import protocol_of
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


def post(path: str, header: str = "", **fields: Any) -> bytes:
    body = json.dumps({"model": "mock"} | fields).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: mock\r\nContent-Type: application/json\r\n{header}"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


def request(header: str = "", **fields: Any) -> bytes:
    return post(CHAT, header, **chat(max_tokens=3, **fields))


class Served:
    """A server and one connection to it."""

    def __init__(self, *flags: str) -> None:
        settings, environment = load(["--served-model-name", "mock", "--ttft-ms", "0", "--itl-ms", "0", *flags], {})
        self.backend = build_backend(settings, environment, asyncio.get_running_loop())
        app = build_app(self.backend)
        config = uvicorn.Config(app.asgi, interface="asgi3", ws="none", lifespan="off", log_level="critical")
        config.load()
        self.state = ServerState()
        self.protocol = protocol_of(app.taskless_paths)(config, self.state, {})
        self.wire = Wire()
        self.protocol.connection_made(self.wire)

    async def feed(self, *pieces: bytes) -> Wire:
        for piece in pieces:
            self.protocol.data_received(piece)
            for _ in range(20):
                await settle()
        return self.wire

    @property
    def states(self) -> list[str]:
        return [entry.state for entry in self.backend.journal]


async def answered(*requests: bytes) -> Wire:
    return await Served("--events-per-write", "1").feed(b"".join(requests))


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


async def test_a_request_whose_body_is_here_needs_no_task() -> None:
    served = Served("--itl-ms", "10000")
    await served.feed(request(stream=True))
    assert served.states == ["running"]
    assert not served.state.tasks


async def test_a_body_that_comes_late_is_waited_for() -> None:
    served = Served()
    wire = await served.feed(request()[:-5], request()[-5:])
    assert json.loads(wire.writes[-1].partition(b"\r\n\r\n")[2])["usage"]["completion_tokens"] == 3
    assert served.states == ["finished"]
    assert not served.state.tasks


@pytest.mark.parametrize("more", [(), (request(),)], ids=["alone", "with another behind it"])
async def test_a_client_that_leaves_is_noticed_at_once(more: tuple[bytes, ...], caplog: Any) -> None:
    served = Served("--itl-ms", "10000")
    await served.feed(request(stream=True), *more)
    served.protocol.connection_lost(None)
    assert served.states[0] == "aborted_client"
    assert served.backend.num_open_requests == 0
    assert served.backend.driver.core.engine.num_running == 0
    assert not caplog.records


@pytest.mark.parametrize("pieces", [2, 1], ids=["one after the other", "pipelined"])
async def test_requests_with_a_task_and_without_follow_each_other(pieces: int) -> None:
    served = Served()
    other = post("/v1/responses", input="hola", stream=True)  # a path whose requests may need a task
    requests = [request(stream=True), other, request(), other]
    wire = await served.feed(*(requests if pieces == 2 else [b"".join(requests)]))
    assert served.states == ["finished"] * 4
    assert not wire.closed
    assert b"".join(wire.writes).count(b"event: response.completed") == 2


async def test_a_failure_that_ends_the_stream_at_once_leaves_nobody_waiting() -> None:
    served = Served()
    await served.feed(request(stream=True, logprobs=True, top_logprobs=21), request())
    assert served.states == ["failed", "finished"]
    assert not served.state.tasks


async def test_what_waits_for_something_else_gets_a_task_for_the_rest() -> None:
    ready: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    seen: list[str] = []

    async def work() -> None:
        await pause()
        seen.append(await ready)
        try:
            await asyncio.sleep(100)
        except asyncio.CancelledError:
            seen.append("cancelled")

    begun = work()
    assert begun.send(None) is None
    task = asyncio.create_task(rest(begun, begun.send(None)))
    ready.set_result("told")
    await settle()
    task.cancel()
    await task
    assert seen == ["told", "cancelled"]
