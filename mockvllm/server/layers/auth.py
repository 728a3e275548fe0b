"""API keys."""

import hmac

from mockvllm.server.asgi import JSON, App, Receive, Scope, Send, header, respond

GUARDED = ("/v1", "/v2", "/inference", "/cohere")


class Auth:
    """401 without one of the keys, on the guarded prefixes only, before routing (vLLM 0.30-0.33: AuthenticationMiddleware).

    OPTIONS is exempt; the scheme is compared case-insensitively, the key exactly and in constant time.
    """

    def __init__(self, app: App, keys: list[str], root_path: str) -> None:
        self._app = app
        self._keys = [key.encode() for key in keys]
        self._root_path = root_path

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] == "OPTIONS" or not self._guards(scope["path"]):
            await self._app(scope, receive, send)
        elif self._accepts(header(scope, b"authorization") or b""):
            await self._app(scope, receive, send)
        else:
            await respond(send, 401, b'{"error":"Unauthorized"}', JSON)

    def _guards(self, path: str) -> bool:
        return path.removeprefix(self._root_path).startswith(GUARDED)

    def _accepts(self, authorization: bytes) -> bool:
        scheme, _, key = authorization.partition(b" ")
        return scheme.lower() == b"bearer" and any([hmac.compare_digest(key, known) for known in self._keys])
