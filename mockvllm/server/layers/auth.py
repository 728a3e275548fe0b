"""API keys."""

import hmac

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

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if (
            scope["type"] == "http"
            and self._guards(scope)
            and not self._accepts(header(scope, b"authorization") or b"")
        ):
            await respond(send, 401, b'{"error":"Unauthorized"}', JSON)
        else:
            await self._app(scope, receive, send)

    def _guards(self, scope: Scope) -> bool:
        path: str = scope["path"].removeprefix(self._root_path)
        return scope["method"] != "OPTIONS" and path.startswith(GUARDED)

    def _accepts(self, authorization: bytes) -> bool:
        scheme, _, key = authorization.partition(b" ")
        return scheme.lower() == b"bearer" and sum(hmac.compare_digest(key, known) for known in self._keys) > 0
