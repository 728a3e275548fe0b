"""A response on its way down to an ASGI client: the chunks of its body go through a shape, and leave when that says."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, MutableMapping
from typing import Any

from mockvllm_client.wireshape import Ending, Piece, Shape, pour

Headers = list[tuple[bytes, bytes]]
Message = MutableMapping[str, Any]
Send = Callable[[Message], Awaitable[None]]


class Reply:
    """The response on its way down. `head` (status and headers) leaves with the first piece."""

    def __init__(self, send: Send) -> None:
        self.started = False
        self.head: tuple[int, Headers] = 502, []
        self._send = send

    async def send(self, pieces: Iterable[Piece]) -> None:
        """Send each piece at its time. A cut is an answer that is left unfinished, so that the server closes the
        connection."""
        now = asyncio.get_running_loop().time
        for piece in pieces:
            if piece.at > now():
                await asyncio.sleep(piece.at - now())
            if piece.ending in (None, Ending.EOF):
                await self._write(piece.data, more=piece.ending is None)

    async def bad_gateway(self, why: str) -> None:
        error = {"message": f"proxy: no answer from {why}", "type": "BadGatewayError", "param": None, "code": 502}
        self.head = 502, [(b"content-type", b"application/json")]
        await self._write(json.dumps({"error": error}).encode(), more=False)

    async def _write(self, data: bytes, *, more: bool) -> None:
        if not self.started:
            self.started = True
            status, headers = self.head
            await self._send({"type": "http.response.start", "status": status, "headers": headers})
        await self._send({"type": "http.response.body", "body": data, "more_body": more})


async def relay(chunks: AsyncIterator[bytes], shape: Shape, send: Callable[[list[Piece]], Awaitable[None]]) -> None:
    """Drive `shape` with the chunks of a body, and with the clock where it is due before the next of them."""
    now = asyncio.get_running_loop().time
    coming: asyncio.Future[bytes | None] | None = None
    await send(pour(shape, [Piece(now())]))
    try:
        while True:
            coming = coming or asyncio.ensure_future(anext(chunks, None))
            await asyncio.wait({coming}, timeout=None if shape.due is None else max(0.0, shape.due - now()))
            if not coming.done():
                await send(shape.wake(now()))
                continue
            chunk, coming = coming.result(), None
            if chunk is None:
                return await send(pour(shape, [Piece(now(), ending=Ending.EOF)]))
            await send(pour(shape, [Piece(now(), chunk)]))
    finally:
        if coming is not None:
            coming.cancel()
            await asyncio.gather(coming, return_exceptions=True)
