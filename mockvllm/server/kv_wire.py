"""KV events as vLLM writes them: msgpack, an array for the batch and a map for each event (0.30 to 0.33)."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import msgspec

from mockvllm.engine.block_hash import int_hash, untagged
from mockvllm.engine.kv_events import AllBlocksCleared, BlockRemoved, BlockStored, KVEvent
from mockvllm.engine.request import BlockHash, Request


class Labels(NamedTuple):
    """What BlockStored says of a request and the engine does not know."""

    lora_id: int | None = None
    session_id: str | None = None


class _Event(msgspec.Struct, omit_defaults=True, gc=False, frozen=True, kw_only=True):
    """Keys at their default are left out; a key without a default is always there."""


class _BlockStored(_Event, tag="BlockStored", frozen=True):
    block_hashes: list[int | bytes]
    parent_block_hash: int | bytes | None
    token_ids: Sequence[int]
    block_size: int
    lora_id: int | None
    medium: str | None
    lora_name: str | None
    extra_keys: list[tuple[str, ...] | None] | None = None
    group_idx: int | None = None
    kv_cache_spec_kind: str | None = None
    kv_cache_spec_sliding_window: int | None = None
    locality: str | None = None
    ownership: str | None = None
    session_id: str | None = None


class _BlockStoredWithLookahead(_BlockStored, tag="BlockStored", frozen=True):
    """With this key the type has 16: msgspec then writes the map's size in 16 bits, whatever is left out."""

    lookahead_token_ids: list[int] | None = None


class _BlockRemoved(_Event, tag="BlockRemoved", frozen=True):
    block_hashes: list[int | bytes]
    medium: str | None
    group_idx: int | None = None


class _AllBlocksCleared(_Event, tag="AllBlocksCleared", frozen=True):
    pass


class Batch(NamedTuple):
    """What one update did to the prefix cache; `ts` is Unix time in seconds."""

    ts: float
    events: Sequence[KVEvent]


class BatchEncoder:
    """Encodes the batches of one data-parallel rank; the blocks' hashes are digests.

    `int_hashes`: a hash is written as an integer (VLLM_KV_EVENTS_USE_INT_BLOCK_HASHES=1), not as bytes.
    `lookahead_token_ids`: the release's BlockStored knows that key (`SchedulerRules`).
    """

    def __init__(
        self,
        rank: int,
        *,
        lookahead_token_ids: bool,
        int_hashes: bool = True,
        labels: Callable[[Request], Labels] = lambda _: Labels(),
    ) -> None:
        self._rank = rank
        self._stored = _BlockStoredWithLookahead if lookahead_token_ids else _BlockStored
        self._int_hashes = int_hashes
        self._labels = labels
        self._encoder = msgspec.msgpack.Encoder()

    def __call__(self, batch: Batch) -> bytes:
        return self._encoder.encode((batch.ts, [self._event(event) for event in batch.events], self._rank))

    def _event(self, event: KVEvent) -> _Event:
        match event:
            case BlockStored():
                return self._block_stored(event)
            case BlockRemoved():
                return _BlockRemoved(block_hashes=[self._hash(event.block_hash)], medium="GPU", group_idx=0)
            case AllBlocksCleared():
                return _AllBlocksCleared()

    def _block_stored(self, event: BlockStored) -> _Event:
        labels = self._labels(event.request)
        parent = event.parent_block_hash
        return self._stored(
            block_hashes=[self._hash(block_hash) for block_hash in event.block_hashes],
            parent_block_hash=None if parent is None else self._hash(parent),
            token_ids=event.token_ids,
            block_size=event.block_size,
            lora_id=labels.lora_id,
            medium="GPU",
            lora_name=event.request.lora_name,
            extra_keys=[untagged(keys) for keys in event.extra_keys],
            group_idx=0,
            kv_cache_spec_kind="full_attention",
            session_id=labels.session_id,
        )

    def _hash(self, block_hash: BlockHash) -> int | bytes:
        digest: Any = block_hash  # of BlockHasher
        return int_hash(digest) if self._int_hashes else bytes(digest)
