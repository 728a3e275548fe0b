"""`--enable-request-id-headers`."""

import uuid

from mockvllm.server.asgi import App, Message, Receive, Scope, Send, header, on_start


class RequestId:
    """X-Request-Id on every response: the request's own, or a random one of 32 hex digits."""

    def __init__(self, app: App) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        value = header(scope, b"x-request-id") or uuid.uuid4().hex.encode()

        def add(message: Message) -> None:
            message["headers"] = [*message.get("headers", ()), (b"x-request-id", value)]

        await self._app(scope, receive, on_start(send, add))
