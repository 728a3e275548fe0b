"""`--kv-events-config`: vLLM's keys, defaults and endpoint rules."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec

FLAG = "--kv-events-config"
Count = Annotated[int, msgspec.Meta(ge=0)]


class KVEventsConfig(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """vLLM's `KVEventsConfig`. `publisher` is `zmq` when events are enabled and nothing else is said."""

    enable_kv_cache_events: bool = False
    publisher: Literal["null", "zmq"] | None = None
    endpoint: str = "tcp://*:5557"
    replay_endpoint: str | None = None
    buffer_steps: Count = 10_000
    hwm: Count = 100_000
    max_queue_size: Count = 100_000
    topic: str = ""

    def __post_init__(self) -> None:
        if self.publisher is None:
            msgspec.structs.force_setattr(self, "publisher", "zmq" if self.enable_kv_cache_events else "null")

    @property
    def active(self) -> bool:
        """Whether anything is published."""
        return self.enable_kv_cache_events and self.publisher == "zmq"

    def for_rank(self, rank: int) -> "KVEventsConfig":
        """The config of one data-parallel rank: its own endpoints. Raises ValueError where none can be derived."""
        replay = self.replay_endpoint and rank_endpoint(self.replay_endpoint, rank, "replay_endpoint")
        return msgspec.structs.replace(
            self, endpoint=rank_endpoint(self.endpoint, rank, "endpoint"), replay_endpoint=replay
        )


def parse(value: str | Mapping[str, Any] | None) -> KVEventsConfig:
    """The flag's value (JSON, or the object it stands for). Raises ValueError: one line with flag, key and reason."""
    try:
        data = msgspec.json.decode(value) if isinstance(value, str) else value or {}
        return msgspec.convert(data, KVEventsConfig)
    except (msgspec.DecodeError, msgspec.ValidationError) as error:
        raise ValueError(f"{FLAG}: {error} (in {value!r})") from error


def rank_endpoint(endpoint: str, rank: int, key: str) -> str:
    """The endpoint of a data-parallel rank: the rank is added to a TCP port (but not to 0), appended to an inproc name.

    Rank 0 keeps the endpoint. Raises ValueError for another transport, or a port that is none.
    """
    transport, _, address = endpoint.partition("://")
    if transport == "tcp":
        host, _, port = address.rpartition(":")
        if not (host and port.isdecimal() and int(port) + rank < 1 << 16):
            raise ValueError(f"{FLAG}: {key} {endpoint!r} needs tcp://HOST:PORT (rank {rank} is added to the port)")
        return f"tcp://{host}:{int(port) + rank if int(port) else 0}"
    if transport not in ("inproc", "ipc") or not address:
        raise ValueError(f"{FLAG}: {key} {endpoint!r} is no tcp://, ipc:// or inproc:// address")
    if rank and transport == "ipc":
        raise ValueError(f"{FLAG}: {key} {endpoint!r}: data-parallel rank {rank} needs a tcp:// or inproc:// address")
    return f"{endpoint}_dp{rank}" if rank else endpoint


def binds(endpoint: str) -> bool:
    """vLLM's rule: a wildcard or a local name is bound, a host is connected to."""
    return "*" in endpoint or "::" in endpoint or endpoint.startswith(("ipc://", "inproc://"))
