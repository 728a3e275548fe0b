"""API keys."""

import hmac
from collections.abc import Awaitable

from mockvllm.server.asgi import JSON, App, Receive, Scope, Send, header, respond

GUARDED = ("/v1", "/v2", "/inference", "/cohere")


class Auth:
    """401 without one of the keys, on the guarded prefixes only, before routing (vLLM: AuthenticationMiddleware).

    OPTIONS is exempt; the scheme is compared case-insensitively, the key exactly and in constant time.
    """

    def __init__(self, app: App, keys: list[str], root_path: str) -> None:
        self._app = app
        self._keys = [key.encode() for key in keys]
        self._root_path = root_path

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        if (
            scope["type"] == "http"
            and self._guards(scope)
            and not self._accepts(bearer(header(scope, b"authorization")))
        ):
            return respond(send, 401, b'{"error":"Unauthorized"}', JSON)
        return self._app(scope, receive, send)

    def _guards(self, scope: Scope) -> bool:
        path: str = scope["path"].removeprefix(self._root_path)
        return scope["method"] != "OPTIONS" and path.startswith(GUARDED)

    def _accepts(self, given: bytes) -> bool:
        return sum(hmac.compare_digest(given, known) for known in self._keys) > 0


def bearer(authorization: bytes | None) -> bytes:
    """The key of an `Authorization` header, empty without one or under another scheme (the scheme in any case)."""
    scheme, _, key = (authorization or b"").partition(b" ")
    return key if scheme.lower() == b"bearer" else b""
