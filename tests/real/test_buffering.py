"""What a buffering proxy does to a stream, in the figures of our client: the same answer, all at its end."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass

import pytest
import routes
import support
from mockvllm_client.stream import open_client, stream
from mockvllm_client.transcript import Transcript

Route = Callable[[str], AbstractContextManager[str]]
TTFT, ITL = 0.200, 0.020
LATE = 0.030  # seconds that a busy machine may add

pytestmark = pytest.mark.slow


@dataclass(frozen=True)
class Figures:
    ttft: float
    tpot: float
    e2e: float
    tokens: int


@pytest.fixture(scope="module")
def server() -> Iterator[support.Service]:
    with support.serve("--answer", "repeat", "--ttft-ms", str(TTFT * 1e3), "--itl-ms", str(ITL * 1e3)) as running:
        measure(running.url, 1)  # the first request of the client's process pays for its imports
        yield running


async def ask(url: str, tokens: int) -> Transcript:
    body = {
        "messages": [{"role": "user", "content": "hola"}],
        "stream": True,
        "stream_options": {"include_usage": True},
        "max_tokens": tokens,
    }
    transcript = Transcript()
    async with open_client(url) as client:
        headers = {"accept-encoding": "gzip"}  # as the SDKs and browsers have it
        request = client.build_request("POST", f"{url}/v1/chat/completions", json=body, headers=headers)
        async for _ in stream(client, request, transcript):
            pass
    return transcript


def measure(url: str, tokens: int) -> Figures:
    record = asyncio.run(ask(url, tokens)).record()
    assert record is not None
    return Figures(record.ttft, record.tpot or 0.0, record.latency, record.output_tokens)


@pytest.mark.parametrize("route", routes.STREAMING)
@pytest.mark.parametrize("tokens", [12, 30])
def test_a_streaming_route_shows_the_server_s_pace(server: support.Service, route: Route, tokens: int) -> None:
    with route(server.url) as url:
        figures = measure(url, tokens)
    assert figures.tokens == tokens
    assert TTFT <= figures.ttft < TTFT + LATE
    assert figures.tpot == pytest.approx(ITL, abs=LATE / tokens)
    assert figures.e2e == pytest.approx(TTFT + (tokens - 1) * ITL, abs=LATE)


@pytest.mark.parametrize("route", routes.BUFFERING)
@pytest.mark.parametrize("tokens", [12, 30])
def test_a_buffering_route_gives_everything_at_the_end(server: support.Service, route: Route, tokens: int) -> None:
    with route(server.url) as url:
        figures = measure(url, tokens)
    assert figures.tokens == tokens
    assert figures.e2e == pytest.approx(TTFT + (tokens - 1) * ITL, abs=LATE)
    assert figures.ttft == pytest.approx(figures.e2e, abs=0.010)
    assert figures.tpot < 0.001
