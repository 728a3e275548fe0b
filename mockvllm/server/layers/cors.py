"""Cross-origin requests: Starlette's own middleware where a browser asks, its one header where none does."""

from collections.abc import Awaitable

from starlette.middleware.cors import CORSMiddleware

from mockvllm.server.asgi import UNEXPECTED, App, EditedStart, Message, Receive, Scope, Send, header
from mockvllm.settings import Settings

VARY = (b"vary", b"Origin")


class Cors:
    """vLLM 0.32 and later allow no origin unless `--allowed-origins` names some; every response varies on Origin."""

    def __init__(self, app: App, settings: Settings) -> None:
        self._app = app
        self._browser = CORSMiddleware(
            app,
            allow_origins=settings.allowed_origins,
            allow_methods=settings.allowed_methods,
            allow_headers=settings.allowed_headers,
            allow_credentials=settings.allow_credentials,
        )

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        if scope["type"] != "http":
            return self._app(scope, receive, send)
        if header(scope, b"origin") is not None:
            return self._browser(scope, receive, send)
        return self._app(scope, receive, EditedStart(send, _vary))


def _vary(message: Message) -> None:
    if message.get(UNEXPECTED):
        return
    message["headers"] = [*message.get("headers", ()), VARY]
