"""A request on the network, every read stamped on arrival. Everything it learns is in the `Transcript` it is given."""

import asyncio
import ipaddress
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from typing import TypedDict

import httpx

from mockvllm_client.transcript import Arrival, End, Transcript

CONNECT_SECONDS = 10.0
_KEEP_ALIVE = 4.0  # seconds: less than the 5 after which vLLM closes an idle connection


class Route(TypedDict):
    """Arguments of an httpx client."""

    limits: httpx.Limits
    trust_env: bool
    verify: bool


def open_client(url: str, *, api_key: str | None = None, idle: float | None = None) -> httpx.AsyncClient:
    """A client for the server at `url` that waits at most `idle` seconds for the next bytes.

    It asks for no compression: who compresses a stream holds it.
    """
    headers = {"accept-encoding": "identity"} | ({"authorization": f"Bearer {api_key}"} if api_key else {})
    return httpx.AsyncClient(headers=headers, timeout=httpx.Timeout(idle, connect=CONNECT_SECONDS), **route(url))


def route(url: str) -> Route:
    """How httpx gets to `url`: over any number of connections, to loopback addresses without the proxy that the
    environment names, and with certificates (whose store takes long to load) only where there are any."""
    return {
        "limits": httpx.Limits(max_connections=None, max_keepalive_connections=None, keepalive_expiry=_KEEP_ALIVE),
        "trust_env": not is_loopback(url),
        "verify": httpx.URL(url).scheme == "https",
    }


def is_loopback(url: str) -> bool:
    """Whether the host of `url` is this machine."""
    host = httpx.URL(url).host
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


async def stream(
    client: httpx.AsyncClient,
    request: httpx.Request,
    transcript: Transcript,
    clock: Callable[[], float] = time.perf_counter,
) -> AsyncIterator[tuple[bytes, list[Arrival]]]:
    """Send `request`; yields the bytes as they come with the events that they complete.

    Who cannot connect gets httpx's error; from then on whatever goes wrong is the end of the transcript.
    """
    transcript.started_at = time.time()
    start = clock()
    try:
        response = await client.send(request, stream=True)
        try:
            transcript.open(clock() - start, response.status_code, response.headers)
            async with aclosing(_stamped(response.aiter_bytes(), clock)) as reads:
                async for at, data in reads:
                    yield data, transcript.feed(at - start, data)
        finally:
            await response.aclose()
    except (httpx.ConnectError, httpx.ConnectTimeout):
        raise
    except (httpx.TransportError, httpx.DecodingError) as error:
        transcript.close(clock() - start, _end(error))
    except (asyncio.CancelledError, GeneratorExit):
        transcript.close(clock() - start, End.OURS)
        raise
    else:
        transcript.close(clock() - start, End.COMPLETE)


async def _stamped(chunks: AsyncIterator[bytes], clock: Callable[[], float]) -> AsyncGenerator[tuple[float, bytes]]:
    """Each chunk with its time. httpx gives one HTTP chunk at a time, and a read of the socket may hold many: those
    that come without a turn of the event loop between them came with one read, and get one time."""
    loop = asyncio.get_running_loop()
    turns: list[None] = [None]
    at = 0.0
    while True:
        turn = loop.call_soon(turns.append, None)
        try:
            chunk = await anext(chunks)
        except StopAsyncIteration:
            return
        finally:
            turn.cancel()
        if turns:
            turns.clear()
            at = clock()
        yield at, chunk


def _end(error: Exception) -> End:
    if isinstance(error, httpx.TimeoutException):
        return End.IDLE
    return End.RESET if isinstance(error, httpx.ReadError | httpx.WriteError) else End.INCOMPLETE
