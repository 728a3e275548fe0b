"""The hot route: POSTs that stream tokens, taken before FastAPI's middleware and router."""

from collections.abc import Awaitable

from mockvllm.server.asgi import App, Receive, Scope, Send
from mockvllm.server.generation import Generation
from mockvllm.server.protocol import connection


class HotRoute:
    """Serves the generation endpoints under our own transport; the rest goes to FastAPI, which knows them all."""

    def __init__(self, app: App, endpoints: dict[str, Generation], root_path: str = "") -> None:
        self._app = app
        self._endpoints = endpoints | {root_path + path: endpoint for path, endpoint in endpoints.items()}
        self.taskless_paths = frozenset(path for path, endpoint in self._endpoints.items() if not endpoint.needs_task)

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        if scope["type"] == "http" and scope["method"] == "POST":
            endpoint = self._endpoints.get(scope["path"])
            handle = connection(scope)
            if endpoint is not None and handle is not None:
                return endpoint.serve(scope, receive, send, handle)
        return self._app(scope, receive, send)
