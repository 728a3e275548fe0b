"""KV events of one engine: what its prefix cache does, published batch by batch after the update that did it."""

import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from mockvllm.engine.block_hash import BlockHasher, hash_seed
from mockvllm.engine.kv_events import KVEvent
from mockvllm.engine.listener import EngineListener
from mockvllm.engine.request import Request
from mockvllm.profiles.scheduler import SchedulerRules
from mockvllm.server.kv_events_config import FLAG, KVEventsConfig
from mockvllm.server.kv_wire import Batch, BatchEncoder, Labels


class Publisher(Protocol):
    """Where batches go: `ZmqPublisher`, or a list in a test."""

    config: KVEventsConfig

    def publish(self, batch: Batch) -> None: ...

    def close(self) -> None: ...


class KVEvents(EngineListener):
    """Hands each update's events, stamped with Unix time in seconds, to the publisher."""

    def __init__(self, publisher: Publisher, unix_time: Callable[[], float] = time.time) -> None:
        self.publisher = publisher
        self._unix_time = unix_time

    def kv(self, events: Sequence[KVEvent], now: float) -> None:
        self.publisher.publish(Batch(self._unix_time(), events))


def start(
    config: KVEventsConfig,
    rank: int,
    rules: SchedulerRules,
    environ: Mapping[str, str],
    labels: Callable[[Request], Labels] = lambda _: Labels(),
    unix_time: Callable[[], float] = time.time,
) -> KVEvents | None:
    """The listener of a data-parallel rank's engine, its sockets open; None when nothing is to be published.

    Reads VLLM_KV_EVENTS_USE_INT_BLOCK_HASHES. Raises ValueError in one line: an endpoint that cannot be had, no pyzmq.
    """
    if not config.active:
        return None
    try:
        from mockvllm.server.kv_publisher import ZmqPublisher
    except ImportError as error:
        raise ValueError(f"{FLAG} needs the package pyzmq: pip install 'mockvllm[kv-events]'") from error
    int_hashes = environ.get("VLLM_KV_EVENTS_USE_INT_BLOCK_HASHES", "1") != "0"
    encode = BatchEncoder(rank, lookahead_token_ids=rules.lookahead_token_ids, int_hashes=int_hashes, labels=labels)
    return KVEvents(ZmqPublisher(config.for_rank(rank), encode), unix_time)


def block_hasher(algorithm: str, rules: SchedulerRules, environ: Mapping[str, str]) -> BlockHasher:
    """The engine's `hash_block` for `--prefix-caching-hash-algo`; reads PYTHONHASHSEED. Raises as that does."""
    seed = hash_seed(algorithm, environ.get("PYTHONHASHSEED"), lambda: secrets.token_hex(32))
    return BlockHasher(algorithm, seed, tagged=rules.tagged_extra_keys)


def sources(listeners: Mapping[int, KVEvents]) -> dict[str, dict[str, Any]]:
    """`GET /kv_event_sources`: the publisher of each data-parallel rank, with its endpoints as bound; `{}` without."""
    return {str(rank): msgspec.structs.asdict(listener.publisher.config) for rank, listener in listeners.items()}
