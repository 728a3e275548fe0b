"""`--enable-request-id-headers`."""

import uuid
from collections.abc import Awaitable

from mockvllm.server.asgi import App, EditedStart, Message, Receive, Scope, Send, header


class RequestId:
    """X-Request-Id on every response: the request's own, or a random one of 32 hex digits."""

    def __init__(self, app: App) -> None:
        self._app = app

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        if scope["type"] != "http":
            return self._app(scope, receive, send)
        own = header(scope, b"x-request-id")
        value = uuid.uuid4().hex.encode() if own is None else own

        def add(message: Message) -> None:
            message["headers"] = [*message.get("headers", ()), (b"x-request-id", value)]

        return self._app(scope, receive, EditedStart(send, add))
