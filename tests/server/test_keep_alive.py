"""Comments in streams that are silent: `--sse-keep-alive-interval`, on a clock moved by hand."""

import asyncio
import json

import pytest
from server.harness import CHAT, chat, events, in_process, settle
from server.test_exchange import Valve

from mockvllm.clock import ManualClock
from mockvllm.server.journal import Entry
from mockvllm.server.keep_alive import COMMENT, KeepAlive

KEEP = ("--sse-keep-alive-interval", "1", "--ttft-ms", "2500", "--itl-ms", "2500")


@pytest.mark.parametrize(
    ("path", "body", "comments"),
    [
        (CHAT, chat(max_tokens=2, stream=True), True),
        ("/v1/completions", {"prompt": "hola", "max_tokens": 2, "stream": True}, True),
        ("/invocations", chat(max_tokens=2, stream=True), True),
        ("/v1/responses", {"input": "hola", "max_output_tokens": 2, "stream": True}, False),
    ],
)
async def test_a_second_of_silence_is_a_comment(path: str, body: dict[str, object], comments: bool) -> None:
    """As recorded: at 1.0 and 2.0 before the token at 2.5, then a second behind it."""
    async with in_process(*KEEP) as server, server.client.stream("POST", path, json=body) as response:
        pieces = response.aiter_bytes()
        heard: list[tuple[float, bytes]] = []
        hearing = asyncio.ensure_future(_hear(pieces, server.backend.clock, heard))
        for _ in range(11):
            await server.advance(0.5)
        await hearing
    at = [when for when, piece in heard if piece == COMMENT]
    assert at == ([1.0, 2.0, 3.5, 4.5] if comments else [])
    assert heard[-1][0] == 5.0


async def _hear(pieces, clock, heard) -> None:  # type: ignore[no-untyped-def]
    async for piece in pieces:
        heard.append((clock.now(), piece))


async def test_a_stream_that_goes_on_has_none() -> None:
    flags = ("--sse-keep-alive-interval", "1", "--ttft-ms", "900", "--itl-ms", "900")
    async with in_process(*flags) as server:
        asked = asyncio.ensure_future(server.client.post(CHAT, json=chat(max_tokens=3, stream=True)))
        for _ in range(4):
            await server.advance(0.9)
        text = (await asked).text
    assert ":" in text and ": keep-alive" not in text
    assert len(events(text)) == 5


async def test_whole_answers_have_none() -> None:
    async with in_process(*KEEP) as server:
        asked = asyncio.ensure_future(server.client.post(CHAT, json=chat(max_tokens=1)))
        for _ in range(3):
            await server.advance(1.0)
        assert json.loads((await asked).content)["usage"]["completion_tokens"] == 1


async def test_who_has_left_hears_nothing_more() -> None:
    async with in_process(*KEEP) as server:
        async with server.client.stream("POST", CHAT, json=chat(max_tokens=9, stream=True)):
            await server.advance(1.0)
        await settle()
        (entry,) = server.backend.journal
        written = list(entry.writes())
        assert [size for _, _, size in written] == [len(COMMENT)]
        await server.advance(5.0)
        assert list(entry.writes()) == written


async def test_a_reader_that_lags_hears_no_comments() -> None:
    clock, valve = ManualClock(asyncio.get_running_loop()), Valve()
    keeper = KeepAlive(valve, clock, 1.0, Entry(clock.now, "POST", CHAT, [], b""))
    went_on: list[bool] = []
    valve.open = False
    clock.advance(1.0)  # the buffer is full, though nobody has asked
    assert not keeper.ready(lambda: went_on.append(True))
    clock.advance(3.0)
    assert valve.writes == []
    valve.reopen()
    assert went_on == [True]
    clock.advance(1.0)
    assert valve.writes == [COMMENT]
    keeper.write(b"last", True)
    clock.advance(5.0)
    assert valve.writes == [COMMENT, b"last"]
