"""Chained hashes of full blocks: equal hash means equal tokens from the start of the sequence, salt and adapter too."""

from collections.abc import Callable

from mockvllm.engine.kv_events import ExtraKeys
from mockvllm.engine.request import BlockHash, Request

HashBlock = Callable[[BlockHash | None, tuple[int, ...], ExtraKeys], BlockHash]
"""(hash of the block before, or None for the first; the block's tokens; its extra keys) -> hash of the block."""


def hash_block(parent: BlockHash | None, token_ids: tuple[int, ...], extra_keys: ExtraKeys) -> BlockHash:
    """The default: fast, equal only within one process. KV events that leave the process want vLLM's own hashes."""
    return hash((parent, token_ids, extra_keys))


def extra_keys(request: Request, block_index: int) -> ExtraKeys:
    """The adapter in every block, the salt in the first one; an empty salt counts as none."""
    keys: list[tuple[str, ...]] = []
    if request.lora_name is not None:
        keys.append(("lora", request.lora_name, request.lora_path or ""))
    if block_index == 0 and request.cache_salt:
        keys.append(("cache_salt", request.cache_salt))
    return tuple(keys) or None


def extend_block_hashes(request: Request, num_blocks: int, block_size: int, hash_block: HashBlock) -> None:
    """Make sure that the first `num_blocks` blocks of `request`, all full of known tokens, are hashed."""
    hashes = request.block_hashes
    start = len(hashes)
    if num_blocks <= start:
        return
    tokens = request.token_ids(start * block_size, num_blocks * block_size)
    parent = hashes[-1] if hashes else None
    for index in range(start, num_blocks):
        offset = (index - start) * block_size
        parent = hash_block(parent, tokens[offset : offset + block_size], extra_keys(request, index))
        hashes.append(parent)
