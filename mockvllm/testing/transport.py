"""An httpx transport that calls an ASGI application in this process, streams its answer and can leave midway.

`httpx.ASGITransport` collects a whole response before it returns it, so a stream cannot be watched or left.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from typing import Any

import httpx

ASGIApp = Callable[
    [MutableMapping[str, Any], Callable[[], Awaitable[Any]], Callable[[Any], Awaitable[None]]], Awaitable[None]
]


class InProcessTransport(httpx.AsyncBaseTransport):
    """Use as `httpx.AsyncClient(transport=InProcessTransport(app), base_url="http://mock")`."""

    def __init__(self, app: ASGIApp, client: tuple[str, int] = ("127.0.0.1", 50000)) -> None:
        self._app = app
        self._client = client

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        call = _Call(self._app, self._scope(request), await request.aread())
        try:
            status, headers = await call.head()
        except asyncio.CancelledError:  # the client leaves before there is an answer
            call.leave()
            raise
        return httpx.Response(status, headers=headers, stream=call)

    def _scope(self, request: httpx.Request) -> dict[str, Any]:
        return {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": request.method,
            "scheme": request.url.scheme,
            "path": request.url.path,
            "raw_path": request.url.raw_path.partition(b"?")[0],
            "query_string": request.url.query,
            "root_path": "",
            "headers": [(name.lower(), value) for name, value in request.headers.raw],
            "server": (request.url.host, request.url.port or 80),
            "client": self._client,
        }


class _Call(httpx.AsyncByteStream):
    """One call of the application. Closing the stream before its end is the client's leaving."""

    def __init__(self, app: ASGIApp, scope: dict[str, Any], body: bytes) -> None:
        self._request: list[dict[str, Any]] = [{"type": "http.request", "body": body, "more_body": False}]
        self._messages: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()
        self._left = asyncio.Event()
        self._task = asyncio.ensure_future(app(scope, self._receive, self._messages.put))
        self._task.add_done_callback(lambda task: self._messages.put_nowait(None))

    async def head(self) -> tuple[int, list[tuple[bytes, bytes]]]:
        """Status and headers. Raises what the application raised, httpx.RemoteProtocolError when it answers nothing."""
        message = await self._messages.get()
        if message is None:
            await self._task
            raise httpx.RemoteProtocolError("the application returned without a response")
        return message["status"], list(message.get("headers", ()))

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while (message := await self._messages.get()) is not None:
            if message.get("body"):
                yield message["body"]
            if not message.get("more_body"):
                self._left.set()
                return
        await self._task

    def leave(self) -> None:
        self._left.set()

    async def aclose(self) -> None:
        self.leave()
        await asyncio.wait([self._task])

    async def _receive(self) -> dict[str, Any]:
        if self._request:
            return self._request.pop()
        await self._left.wait()
        return {"type": "http.disconnect"}
