"""Starlette's response for an answer in one piece."""

from collections.abc import AsyncIterable, Callable

from starlette.responses import StreamingResponse

from mockvllm.server.asgi import Message, Send, with_length


class WholeResponse(StreamingResponse):
    """A body that is waited for. `head` makes the start of the response at the last moment: what it says is true when
    the answer leaves."""

    def __init__(self, pieces: AsyncIterable[bytes], head: Callable[[], Message]) -> None:
        super().__init__(pieces)
        self._head = head

    async def stream_response(self, send: Send) -> None:
        body = b"".join([bytes(piece) async for piece in self.body_iterator])  # type: ignore[arg-type]
        await send(with_length(self._head(), body))
        await send({"type": "http.response.body", "body": body})
