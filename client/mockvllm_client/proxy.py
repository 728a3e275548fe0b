"""A reverse proxy that holds the response as told: an ASGI application on httpx.

It forwards every method, path, query and header both ways, but for the hop-by-hop ones and `Host`; a `Location` on the
upstream becomes one on the proxy. Whoever leaves takes the other side along: a client that is gone closes the upstream
connection, an upstream that fails is a 502 while the head is unsent and a cut connection afterwards.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, MutableMapping
from contextlib import aclosing
from typing import Any

import httpx

from mockvllm_client.relay import Headers, Message, Reply, Send, relay
from mockvllm_client.stream import CONNECT_SECONDS, route
from mockvllm_client.wireshape import Ending, Piece, Shape, pour

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]

_HOP_BY_HOP = {
    b"connection",
    b"keep-alive",
    b"proxy-authenticate",
    b"proxy-authorization",
    b"proxy-connection",
    b"te",
    b"trailer",
    b"transfer-encoding",
    b"upgrade",
}
_BODY_HEADERS = (b"content-length", b"transfer-encoding")


class ClientGoneError(Exception):
    """The client left before its request was in."""


class Proxy:
    """Forwards to `upstream` (a URL, with a path prefix or without); each response goes through a fresh `shape()`."""

    def __init__(self, upstream: str, shape: Callable[[], Shape]) -> None:
        self._upstream = httpx.URL(upstream)
        self._shape = shape
        self._client: httpx.AsyncClient | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
        elif scope["type"] == "http":
            await self._http(scope, receive, send)
        else:
            await receive()
            await send({"type": "websocket.close", "code": 1011, "reason": "the proxy forwards HTTP only"})

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        await receive()
        self._client = httpx.AsyncClient(
            timeout=httpx.Timeout(None, connect=CONNECT_SECONDS), **route(str(self._upstream))
        )
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await self._client.aclose()
        await send({"type": "lifespan.shutdown.complete"})

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward until it is done or the client leaves, whichever comes first."""
        body = Body(receive, expected=any(name in _BODY_HEADERS for name, _ in scope["headers"]))
        forward = asyncio.ensure_future(self._forward(scope, body, Reply(send)))
        gone = asyncio.ensure_future(body.client_gone())
        try:
            await asyncio.wait({forward, gone}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            forward.cancel()
            gone.cancel()
            await asyncio.gather(forward, gone, return_exceptions=True)
        if not forward.cancelled():
            forward.result()

    async def _forward(self, scope: Scope, body: "Body", reply: Reply) -> None:
        assert self._client is not None, "the proxy needs the lifespan protocol"
        shape = self._shape()
        try:
            response = await self._client.send(self._request(scope, body), stream=True)
            body.taken()
            reply.head = response.status_code, self._response_headers(scope, response)
            async with aclosing(response):
                await relay(response.aiter_raw(), shape, reply.send)
        except ClientGoneError:
            return
        except httpx.TransportError as error:
            if reply.started:
                await reply.send(pour(shape, [Piece(asyncio.get_running_loop().time(), ending=Ending.CUT)]))
            else:
                await reply.bad_gateway(f"{self._upstream}: {error or type(error).__name__}")

    def _request(self, scope: Scope, body: "Body") -> httpx.Request:
        target: bytes = self._upstream.raw_path.rstrip(b"/") + scope["raw_path"]
        if scope["query_string"]:
            target += b"?" + scope["query_string"]
        return httpx.Request(
            scope["method"],
            self._upstream,
            headers=[header for header in end_to_end(scope["headers"]) if header[0] != b"host"],
            content=body.stream() if body.expected else None,
            extensions={"target": target},  # byte for byte, whatever a URL parser would make of it
        )

    def _response_headers(self, scope: Scope, response: httpx.Response) -> Headers:
        ours: bytes = scope["scheme"].encode() + b"://" + dict(scope["headers"]).get(b"host", b"")
        theirs = str(self._upstream.copy_with(raw_path=b"/")).rstrip("/").encode()
        headers = end_to_end((name.lower(), value) for name, value in response.headers.raw)
        return [(name, _moved(value, theirs, ours) if name == b"location" else value) for name, value in headers]


class Body:
    """The request body on its way up, and the news that the client left."""

    def __init__(self, receive: Receive, *, expected: bool) -> None:
        self.expected = expected
        self._receive = receive
        self._taken = asyncio.Event()
        if not expected:
            self.taken()

    def taken(self) -> None:
        """The upstream wants no more of it."""
        self._taken.set()

    async def stream(self) -> AsyncIterator[bytes]:
        more = True
        while more:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                raise ClientGoneError
            more = message.get("more_body", False)
            yield message.get("body", b"")
        self.taken()

    async def client_gone(self) -> None:
        """Returns when the client has left. Until the body is taken `stream` is the one who listens."""
        await self._taken.wait()
        while (await self._receive())["type"] != "http.disconnect":
            pass


def end_to_end(headers: Iterable[tuple[bytes, bytes]]) -> Headers:
    """The headers (names in lower case) that are not for one hop only: neither the standard ones nor those that
    `Connection` names."""
    kept = list(headers)
    named = {token.strip().lower() for name, value in kept if name == b"connection" for token in value.split(b",")}
    return [(name, value) for name, value in kept if name not in _HOP_BY_HOP and name not in named]


def _moved(location: bytes, theirs: bytes, ours: bytes) -> bytes:
    at_theirs = location == theirs or location.startswith(theirs + b"/")
    return ours + location[len(theirs) :] if at_theirs else location
