"""uvicorn's server with vLLM's way of leaving."""

import asyncio
import logging
import signal
import socket
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from types import FrameType

import uvicorn

from mockvllm.server.unix_socket import unix_socket

log = logging.getLogger("uvicorn.error")


class Server(uvicorn.Server):
    """SIGTERM and SIGINT as vLLM takes them (0.30-0.33).

    With no stream open the process is gone at once. With streams open new connections are refused and the engine is
    stopped: the streams get neither bytes nor an end until their clients give up. With a `shutdown_timeout` (seconds)
    the engine goes on for so long and the streams may end. A second signal ends at once. The exit status is 0.
    """

    def __init__(self, config: uvicorn.Config, stop_engine: Callable[[], None], shutdown_timeout: float) -> None:
        super().__init__(config)
        self._stop_engine = stop_engine
        self._shutdown_timeout = shutdown_timeout

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self.handle_exit, number, None)
        yield
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if self.should_exit:
            self.force_exit = True
            return
        self.should_exit = True
        for server in self.servers:
            server.close()
        if self._shutdown_timeout:
            asyncio.get_running_loop().call_later(self._shutdown_timeout, self._stop_engine)
        else:
            self._stop_engine()

    async def main_loop(self) -> None:
        counter = 0
        while not await self.on_tick(counter):
            counter = (counter + 1) % 864000
            await asyncio.sleep(0.1)


def listen(host: str | None, port: int, uds: str | None = None) -> AbstractContextManager[socket.socket]:
    """The listening socket, bound before anything slow happens. OSError, or SettingsError, names the address."""
    if uds:
        return unix_socket(uds)
    address = host or "0.0.0.0"
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    try:
        sock.bind((address, port))
    except OSError as error:
        sock.close()
        raise OSError(error.errno, f"cannot listen on {address}:{port}: {error.strerror}") from None
    return sock
