"""How KV connectors hear of each other: datagrams between the addresses in `kv_transfer_params`.

vLLM's engines tell each other over NIXL that blocks were read, or are still wanted. Here a datagram of JSON says so, to
the same host and port; one that is lost, or finds nobody, leaves the blocks to their lease.
"""

import asyncio
import json
import logging
import socket
from collections.abc import Callable
from typing import Any

from mockvllm.engine import Notice, RemoteBlocks

log = logging.getLogger(__name__)
Hear = Callable[[Notice, str], None]


class SideChannel(asyncio.DatagramProtocol):
    """`hear` gets what others say to the engine `engine_id`: a notice, and the name under which blocks are kept."""

    def __init__(self, engine_id: str, hear: Hear, loop: asyncio.AbstractEventLoop) -> None:
        self._engine_id = engine_id
        self._hear = hear
        self._loop = loop
        self._tasks: set[asyncio.Task[Any]] = set()
        self._ways: dict[tuple[str, int], asyncio.DatagramTransport] = {}
        self._listening: asyncio.DatagramTransport | None = None

    def listen(self, host: str, port: int) -> None:
        """Where others reach this engine. A warning if the address cannot be had: leases end by time alone then."""
        sock = None
        try:
            family, kind, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)[0]
            sock = socket.socket(family, kind)
            sock.bind(address)
        except (OSError, OverflowError) as error:
            if sock is not None:
                sock.close()
            log.warning("KV blocks are kept until their lease ends: %s:%d: %s", host, port, error)
            return
        self._spawn(self._listen(sock))

    async def _listen(self, sock: socket.socket) -> None:
        self._listening, _ = await self._loop.create_datagram_endpoint(lambda: self, sock=sock)

    def datagram_received(self, data: bytes, address: Any) -> None:
        """Anything that is not for this engine is passed over."""
        try:
            message = json.loads(data)
            engine_id, lease_id, notice = message["engine_id"], message["request_id"], message["notice"]
        except (ValueError, TypeError, KeyError):
            return
        if engine_id == self._engine_id and isinstance(lease_id, str) and notice in ("read", "heartbeat"):
            self._hear(notice, lease_id)

    def tell(self, source: RemoteBlocks, notice: Notice) -> None:
        """To the engine that keeps the blocks."""
        data = json.dumps(
            {"engine_id": source.engine_id, "request_id": source.request_id, "notice": notice}, separators=(",", ":")
        ).encode()
        way = self._ways.get((source.host, source.port))
        if way is not None:
            way.sendto(data)
        else:
            self._spawn(self._find_way(source.host, source.port, data))

    async def _find_way(self, host: str, port: int, data: bytes) -> None:
        """The first time a name may have to be looked up."""
        try:
            way, _ = await self._loop.create_datagram_endpoint(asyncio.DatagramProtocol, remote_addr=(host, port))
        except (OSError, ValueError, OverflowError) as error:
            log.warning("%s:%d cannot be told that its KV blocks were read: %s", host, port, error)
            return
        self._ways.setdefault((host, port), way).sendto(data)
        if self._ways[host, port] is not way:
            way.close()

    def _spawn(self, work: Any) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        for transport in (self._listening, *self._ways.values()):
            if transport is not None:
                transport.close()
