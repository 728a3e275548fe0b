"""Event batches over ZeroMQ: a PUB socket, and a ROUTER socket that gives past batches again.

As in vLLM a thread of its own encodes and sends: the engine only puts a batch into a queue, so neither a slow
subscriber nor a replay of thousands of batches holds up a token, and no event loop is needed.
"""

import logging
import os
import socket
from collections import deque
from collections.abc import Callable
from queue import Empty, SimpleQueue
from threading import Thread

import msgspec
import zmq

from mockvllm.server.kv_events_config import FLAG, KVEventsConfig, binds
from mockvllm.server.kv_wire import Batch

logger = logging.getLogger(__name__)

END_SEQ = (-1).to_bytes(8, "big", signed=True)
_REPLAY_POLL_S = 0.1
_CLOSE_TIMEOUT_S = 0.3


class ZmqPublisher:
    """Publishes each batch with a sequence number, from 0, and keeps the last `buffer_steps` of them for replay.

    `encode` makes a batch's payload. `config` is that of one rank (`KVEventsConfig.for_rank`); the attribute holds the
    endpoints as bound. Raises ValueError when an endpoint cannot be had.
    """

    def __init__(self, config: KVEventsConfig, encode: Callable[[Batch], bytes]) -> None:
        self.dropped = 0
        self._queue: SimpleQueue[tuple[int, Batch] | None] = SimpleQueue()
        self._max_queue_size = config.max_queue_size
        self._buffer: deque[tuple[int, bytes]] = deque(maxlen=config.buffer_steps)
        self._encode = encode
        self._topic = config.topic.encode()
        self._next_seq = 0
        self._open(config)
        logger.info("Starting ZMQ publisher thread")
        self._thread = Thread(target=self._run, name="zmq-publisher", daemon=True)
        self._thread.start()

    def publish(self, batch: Batch) -> None:
        """Queue a batch; never waits. When the queue is full (`max_queue_size`, 0: no bound) the batch is lost.

        Its sequence number is lost with it, so that a subscriber sees the gap. (vLLM's engine would wait.)
        """
        seq, self._next_seq = self._next_seq, self._next_seq + 1
        if not self._max_queue_size or self._queue.qsize() < self._max_queue_size:
            self._queue.put((seq, batch))
            return
        if not self.dropped:
            logger.warning("KV events: max_queue_size %d is reached, batch %d is dropped", self._max_queue_size, seq)
        self.dropped += 1

    def close(self) -> None:
        """Publish what is queued, for a third of a second at most, and close the sockets."""
        self._queue.put(None)
        self._thread.join(_CLOSE_TIMEOUT_S)
        self._close_sockets()

    def _close_sockets(self) -> None:
        self._pub.close(linger=int(_CLOSE_TIMEOUT_S * 1000))
        if self._router is not None:
            self._router.close(linger=0)

    def _open(self, config: KVEventsConfig) -> None:
        context: zmq.Context[zmq.Socket[bytes]] = zmq.Context.instance()
        self._pub = context.socket(zmq.PUB)
        self._pub.set_hwm(config.hwm)
        self._router = context.socket(zmq.ROUTER) if config.replay_endpoint else None
        try:
            endpoint = _attach(self._pub, config.endpoint, "endpoint", bind=binds(config.endpoint))
            replay_endpoint = config.replay_endpoint
            if self._router is not None and replay_endpoint:
                # A ROUTER drops what a peer's queue cannot hold: give it room for one whole replay.
                self._router.sndhwm = config.buffer_steps + 1
                replay_endpoint = _attach(self._router, replay_endpoint, "replay_endpoint", bind=True)
        except ValueError:
            self._close_sockets()
            raise
        self.config = msgspec.structs.replace(config, endpoint=endpoint, replay_endpoint=replay_endpoint)

    def _run(self) -> None:
        wait = None if self._router is None else _REPLAY_POLL_S
        while True:
            if self._router is not None and self._router.poll(0):
                self._replay(self._router)
            try:
                item = self._queue.get(timeout=wait)
            except Empty:
                continue
            if item is None:
                return
            seq, batch = item
            payload = self._encode(batch)
            self._pub.send_multipart((self._topic, seq.to_bytes(8, "big"), payload))
            self._buffer.append((seq, payload))

    def _replay(self, router: zmq.Socket[bytes]) -> None:
        frames = router.recv_multipart()
        if len(frames) != 3:
            logger.warning("Invalid replay request: %s", frames)
            return
        peer, _, start = frames
        first = int.from_bytes(start, "big")
        for seq, payload in self._buffer:
            if seq >= first:
                router.send_multipart((peer, b"", self._topic, seq.to_bytes(8, "big"), payload))
        router.send_multipart((peer, b"", b"", END_SEQ, b""))


def _attach(sock: zmq.Socket[bytes], endpoint: str, key: str, *, bind: bool) -> str:
    """Bind or connect; what to tell others. `tcp://*:0` takes a free port of this machine's address, as in vLLM."""
    any_port = bind and endpoint == "tcp://*:0"
    target = f"tcp://{_own_address()}:0" if any_port else endpoint
    sock.ipv6 = "[" in target
    try:
        (sock.bind if bind else sock.connect)(target)
    except zmq.ZMQError as error:
        raise ValueError(f"{FLAG}: {key} {endpoint!r}: {error.strerror}") from error
    return sock.getsockopt_string(zmq.LAST_ENDPOINT) if any_port else endpoint


def _own_address() -> str:
    """VLLM_HOST_IP, else the address this machine would be reached at from outside (no packet is sent)."""
    if address := os.environ.get("VLLM_HOST_IP"):
        return address
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            return "127.0.0.1"
        return str(probe.getsockname()[0])
