"""ASGI's types as this server uses them, and the few things that every layer does with them."""

from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
Headers = list[tuple[bytes, bytes]]

UNEXPECTED = "mockvllm.unexpected"
"""In a response's start message: see `respond`."""
JSON: Headers = [(b"content-type", b"application/json")]


def header(scope: Scope, name: bytes) -> bytes | None:
    """The first header called `name` (lower case), or None."""
    for key, value in scope["headers"]:
        if key == name:
            return bytes(value)
    return None


def lookup(headers: Iterable[tuple[bytes, bytes]]) -> dict[bytes, bytes]:
    """The headers by their names (lower case): of those that share one the first, as `header` has it."""
    return dict(reversed([*headers]))


class EditedStart:
    """`send`, with the response's start message edited first. It is no coroutine of its own, so that `send` can be
    driven by hand, and it leaves the body alone: who sends one may go past it (`body_send`)."""

    __slots__ = ("edit", "send")

    def __init__(self, send: Send, edit: Callable[[Message], None]) -> None:
        self.send = send
        self.edit = edit

    def __call__(self, message: Message) -> Awaitable[None]:
        if message["type"] == "http.response.start":
            self.edit(message)
        return self.send(message)


def body_send(send: Send) -> Send:
    """The innermost `send`, for the messages behind the start."""
    while isinstance(send, EditedStart):
        send = send.send
    return send


def with_length(head: Message, body: bytes) -> Message:
    """The start of a response whose whole body this is."""
    return {**head, "headers": [(b"content-length", b"%d" % len(body)), *head["headers"]]}


async def respond(
    send: Send,
    status: int,
    body: bytes = b"",
    headers: Iterable[tuple[bytes, bytes]] = (),
    *,
    is_unexpected: bool = False,
) -> None:
    """A whole response at once. `is_unexpected`: it is none of the application's, and gets none of CORS's headers."""
    head = [(b"content-length", b"%d" % len(body)), *headers]
    await send({"type": "http.response.start", "status": status, "headers": head, UNEXPECTED: is_unexpected})
    await send({"type": "http.response.body", "body": body})


async def read_body(receive: Receive) -> bytes | None:
    """The whole request body; None when the client left before it was complete."""
    message = await receive()
    if message["type"] == "http.disconnect":
        return None
    body: bytes = message.get("body", b"")
    if not message.get("more_body"):
        return body
    parts = [body]
    while message.get("more_body"):
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        parts.append(message.get("body", b""))
    return b"".join(parts)
