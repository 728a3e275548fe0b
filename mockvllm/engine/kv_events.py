"""What happens to the prefix cache, as vLLM's KV events tell it (0.33.0). Their wire format is not known here."""

from dataclasses import dataclass

from mockvllm.engine.request import BlockHash, Request

ExtraKeys = tuple[tuple[str, ...], ...] | None
"""What besides tokens tells blocks apart, tagged: ("lora", name, path), ("cache_salt", salt); None for nothing."""


@dataclass(frozen=True, slots=True)
class BlockStored:
    """Consecutive blocks of one request became full and findable. `parent_block_hash` is None for the first block of a
    sequence; `token_ids` are those of all blocks, `extra_keys` has one entry a block."""

    request: Request
    block_hashes: tuple[BlockHash, ...]
    parent_block_hash: BlockHash | None
    token_ids: tuple[int, ...]
    block_size: int
    extra_keys: tuple[ExtraKeys, ...]


@dataclass(frozen=True, slots=True)
class BlockRemoved:
    """One physical copy of a block left the cache; other copies of the same hash may remain."""

    block_hash: BlockHash


@dataclass(frozen=True, slots=True)
class AllBlocksCleared:
    """The prefix cache was reset."""


KVEvent = BlockStored | BlockRemoved | AllBlocksCleared
