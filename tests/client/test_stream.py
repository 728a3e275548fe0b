"""The client on real sockets: bytes cut anywhere, connections that end badly, servers that nobody would build."""

import asyncio
import gzip
import socket
from collections.abc import Callable

import httpx
import pytest
from chat_streams import DONE, Timed, chunk, paced, role, usage
from mockvllm_client.check import judge
from mockvllm_client.stream import is_loopback, open_client, stream
from mockvllm_client.transcript import Arrival, End, Transcript
from patience import patient
from raw_server import Answer, Peer, RawServer, Request

HEAD = (b"content-type: text/event-stream; charset=utf-8", b"transfer-encoding: chunked")


async def ask(
    url: str, idle: float | None = 5.0, stop: Callable[[Transcript], bool] = lambda noted: False
) -> Transcript:
    noted = Transcript()
    async with open_client(url, idle=idle) as client:
        async for _ in (reads := stream(client, client.build_request("POST", url, json={}), noted)):
            if stop(noted):
                await reads.aclose()
                break
    return noted


def heard(answer: Answer, idle: float | None = 5.0) -> Transcript:
    with RawServer(answer) as server:
        return asyncio.run(ask(server.url, idle))


def saying(pieces: list[Timed]) -> Answer:
    async def answer(request: Request, peer: Peer) -> None:
        await peer.sse(pieces)

    return answer


TEXT = "Tu pedido sale mañana 你好🫠"
BODY = b"".join(
    [role(), *(chunk({"content": letter}) for letter in TEXT), chunk({"content": ""}, "stop"), usage(4, 9), DONE]
)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100, len(BODY)])
@pytest.mark.parametrize("eol", [b"\n", b"\r", b"\r\n"])
def test_any_packets_and_any_line_ending_give_the_text(size: int, eol: bytes) -> None:
    body = BODY.replace(b"\n", eol)
    noted = heard(saying([(0.0, body[at : at + size]) for at in range(0, len(body), size)]))
    assert (noted.answer.first.text, noted.answer.first.finish_reason) == (TEXT, "stop")
    assert noted.answer.usage == {"prompt_tokens": 4, "total_tokens": 13, "completion_tokens": 9}
    assert (noted.end, noted.answer.malformed, noted.sse.stray_lines) == (End.COMPLETE, 0, 0)


@pytest.mark.parametrize("cut", range(1, 7))
def test_a_packet_may_end_within_data_colon_space(cut: int) -> None:
    parts = [part for event in BODY.split(b"\n\n")[:-1] for part in (event[:cut], event[cut:] + b"\n\n")]
    assert heard(saying([(0.0, part) for part in parts])).answer.first.text == TEXT


@pytest.mark.parametrize("size", [300_000, 2 << 20])
def test_an_event_may_be_as_long_as_it_likes(size: int) -> None:
    noted = heard(saying([(0.0, chunk({"content": "ñ" * size}, "stop") + DONE)]))
    assert len(noted.answer.first.text) == size
    assert noted.sse.events == 2


def test_events_of_one_packet_are_of_one_read_however_many_http_chunks_it_holds() -> None:
    async def answer(request: Request, peer: Peer) -> None:
        await peer.head(*HEAD)
        for step in range(3):
            await asyncio.sleep(0.05)
            events = [chunk({"content": f"{step}{i}"}) for i in range(4)]
            await peer.write(b"".join(b"%x\r\n%s\r\n" % (len(event), event) for event in events))
        await asyncio.sleep(0.05)
        await peer.chunk(chunk({}, "stop") + DONE)
        await peer.end()

    noted = heard(answer)
    assert [read.events for read in noted.reads][:3] == [4, 4, 4]
    assert len({arrival.at for arrival in noted.arrivals[:4]}) == 1


@patient
def test_a_pause_is_in_the_times() -> None:
    noted = heard(saying(paced(10, ttft=0.1, itl=0.03)))
    record = noted.record()
    assert record is not None and record.tpot is not None
    assert noted.headers_at is not None and noted.headers_at < 0.08 <= record.ttft
    assert record.ttft == pytest.approx(0.1, abs=0.03)
    assert record.tpot == pytest.approx(0.03, abs=0.003)


async def cut(request: Request, peer: Peer) -> None:
    await peer.head(*HEAD)
    await peer.play(paced(9, ttft=0.0, itl=0.0)[:5])


async def reset(request: Request, peer: Peer) -> None:
    await cut(request, peer)
    await asyncio.sleep(0.1)
    peer.reset()


async def silent(request: Request, peer: Peer) -> None:
    await cut(request, peer)
    await asyncio.sleep(5)


async def clean_end(request: Request, peer: Peer) -> None:
    await cut(request, peer)
    await peer.end()


async def too_short(request: Request, peer: Peer) -> None:
    await peer.head(HEAD[0], b"content-length: 100000")
    await peer.write(BODY)


async def no_answer(request: Request, peer: Peer) -> None:
    return


@pytest.mark.parametrize(
    ("answer", "verdict", "tokens"),
    [
        (cut, "TRUNCATED(eof)", 4),
        (reset, "TRUNCATED(reset)", 4),
        (silent, "TRUNCATED(idle)", 4),
        (clean_end, "TRUNCATED(no_finish)", 4),
        (too_short, "TRUNCATED(eof)", len(TEXT) + 1),
        (no_answer, "TRUNCATED(eof)", 0),
    ],
)
def test_every_bad_end_has_its_name_and_keeps_what_came(answer: Answer, verdict: str, tokens: int) -> None:
    noted = heard(answer, idle=0.5)
    assert (str(judge(noted)), len(noted.token_times)) == (verdict, tokens)


def test_nobody_there_is_an_error_of_its_own() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(httpx.ConnectError):
        asyncio.run(ask(f"http://127.0.0.1:{port}"))


def test_leaving_closes_the_connection() -> None:
    with RawServer(saying(paced(500, ttft=0.0, itl=0.01))) as server:
        noted = asyncio.run(ask(server.url, stop=lambda noted: len(noted.token_times) >= 3))
        assert server.requests[0].gone.wait(2)
    assert noted.end is End.OURS
    assert 3 <= len(noted.token_times) < 20


def test_compression_nobody_asked_for_is_undone() -> None:
    async def answer(request: Request, peer: Peer) -> None:
        assert request.header(b"accept-encoding") == [b"identity"]
        await peer.head(*HEAD, b"content-encoding: gzip")
        await peer.chunk(gzip.compress(BODY))
        await peer.end()

    assert heard(answer).answer.first.text == TEXT


def test_garbage_instead_of_compression_is_a_cut_stream() -> None:
    async def answer(request: Request, peer: Peer) -> None:
        await peer.head(*HEAD, b"content-encoding: gzip")
        await peer.chunk(b"not gzip")
        await peer.end()

    assert str(judge(heard(answer))) == "TRUNCATED(eof)"


def test_bytes_and_events_are_given_as_they_come() -> None:
    async def collect(url: str) -> list[tuple[bytes, list[Arrival]]]:
        async with open_client(url) as client:
            return [read async for read in stream(client, client.build_request("GET", url), Transcript())]

    with RawServer(saying(paced(3, ttft=0.0, itl=0.02))) as server:
        reads = asyncio.run(collect(server.url))
    assert b"".join(data for data, _ in reads) == b"".join(data for _, data in paced(3))
    assert sum(len(arrivals) for _, arrivals in reads) == 3 + 3


@pytest.mark.parametrize(
    ("url", "here"),
    [("http://127.0.0.1:8000", True), ("http://[::1]:8000", True), ("http://localhost", True),
     ("http://127.1.2.3", True), ("http://10.0.0.1", False), ("https://localhost.example", False),
     ("http://vllm", False)],
)  # fmt: skip
def test_loopback(url: str, here: bool) -> None:
    assert is_loopback(url) is here


def test_a_proxy_of_the_environment_does_not_stand_before_loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    assert heard(saying([(0.0, BODY)])).answer.first.text == TEXT


def test_the_key_is_sent() -> None:
    async def fetch(url: str) -> None:
        async with open_client(url, api_key="k1") as client:
            await client.get(url)

    async def answer(request: Request, peer: Peer) -> None:
        await peer.json(b"{}")

    with RawServer(answer) as server:
        asyncio.run(fetch(server.url))
        assert server.requests[0].header(b"authorization") == [b"Bearer k1"]
