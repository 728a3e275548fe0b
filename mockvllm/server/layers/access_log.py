"""uvicorn's access line, without the cost of the logging module on each request."""

import asyncio
import http
import sys
from collections.abc import Awaitable
from functools import lru_cache
from urllib.parse import quote

from mockvllm.console import say
from mockvllm.server.asgi import App, EditedStart, Message, Receive, Scope, Send

quoted = lru_cache(maxsize=256)(quote)
PHRASES = {status.value: f"{status.value} {status.phrase}" for status in http.HTTPStatus}


class AccessLog:
    """One line a response, when its headers are sent; paths named by `--disable-access-log-for-endpoints` are left out.

    Lines are written together once per pass of the event loop.
    """

    def __init__(self, quiet_paths: frozenset[str] = frozenset(), prefix: str = "") -> None:
        self._quiet_paths = quiet_paths
        self._prefix = prefix
        self._lines: list[str] = []

    def around(self, app: App) -> App:
        def logged(scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
            if scope["type"] == "http" and scope["path"] not in self._quiet_paths:
                send = EditedStart(send, lambda message: self._note(scope, message))
            return app(scope, receive, send)

        return logged

    def flush(self) -> None:
        lines, self._lines = self._lines, []
        say(sys.stdout, "".join(lines))

    def _note(self, scope: Scope, message: Message) -> None:
        self._lines.append(self._prefix + access_line(scope, message["status"]))
        if len(self._lines) == 1:
            asyncio.get_running_loop().call_soon(self.flush)


def access_line(scope: Scope, status: int) -> str:
    """As uvicorn prints it, colour left out."""
    client = scope.get("client")
    peer = f"{client[0]}:{client[1]}" if client else ""
    query = scope["query_string"]
    path = quoted(scope["path"]) + (f"?{query.decode('ascii', 'replace')}" if query else "")
    return f'INFO:     {peer} - "{scope["method"]} {path} HTTP/{scope["http_version"]}" {PHRASES.get(status, status)}\n'
