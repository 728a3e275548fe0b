"""POSTs that are answered at once, without an engine."""

from collections.abc import Awaitable, Callable, Iterable

from fastapi import Request, Response

from mockvllm.wire.errors import APIError

Answer = Callable[[bytes, Iterable[tuple[bytes, bytes]]], bytes]
"""From a request's body and headers to the JSON of its answer. Raises APIError."""


def post(answer: Answer) -> Callable[[Request], Awaitable[Response]]:
    """The endpoint that gives this answer."""

    async def endpoint(request: Request) -> Response:
        try:
            return Response(answer(await request.body(), request.headers.raw), media_type="application/json")
        except APIError as error:
            return Response(error.body(), error.status, media_type="application/json")

    return endpoint
