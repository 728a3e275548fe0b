"""An ASGI application on a port: in the foreground, or on a thread of its own for as long as a `with` block lasts."""

import socket
import threading
from types import TracebackType
from typing import Any

import uvicorn

_BACKLOG = 2048
_LEAVE_SECONDS = 1  # that open responses get when the server is told to stop


def bind(host: str, port: int) -> socket.socket:
    """A listening socket (port 0: a free one); OSError if that address cannot be had."""
    sock = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((host, port))
        sock.listen(_BACKLOG)
    except OSError:
        sock.close()
        raise
    return sock


def address(sock: socket.socket) -> str:
    """The URL of a listening socket."""
    host, port = sock.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def server(app: Any) -> uvicorn.Server:
    """A server that adds nothing of its own to what the application answers. An answer that is cut on purpose is no
    error to log."""
    return uvicorn.Server(
        uvicorn.Config(
            app,
            lifespan="on",
            log_level="critical",
            access_log=False,
            server_header=False,
            date_header=False,
            timeout_graceful_shutdown=_LEAVE_SECONDS,
        )
    )


class Background:
    """`with Background(app) as url:` serves `app` on a free loopback port from another thread, so that it does not
    share the caller's event loop."""

    def __init__(self, app: Any) -> None:
        self._server = server(app)
        self._socket = bind("127.0.0.1", 0)
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [self._socket]}, daemon=True)

    def __enter__(self) -> str:
        self._thread.start()
        while not self._server.started and self._thread.is_alive():
            self._thread.join(0.002)
        return address(self._socket)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.should_exit = True
        self._thread.join()
        self._socket.close()
