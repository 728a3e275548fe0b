"""Cross-origin requests: Starlette's own middleware where a browser asks, its one header where none does."""

from starlette.middleware.cors import CORSMiddleware

from mockvllm.server.asgi import UNEXPECTED, App, Message, Receive, Scope, Send, header, on_start
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

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
        elif header(scope, b"origin") is not None:
            await self._browser(scope, receive, send)
        else:
            await self._app(scope, receive, on_start(send, _vary))


def _vary(message: Message) -> None:
    if message.get(UNEXPECTED):
        return
    message["headers"] = [*message.get("headers", ()), VARY]
