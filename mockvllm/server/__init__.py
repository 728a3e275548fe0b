"""The server: an ASGI application, the engine behind it, and the process around both."""

from mockvllm.server.run import run

__all__ = ["run"]
