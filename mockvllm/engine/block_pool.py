"""The pool of KV blocks: who is free, in which order they are used again, and which can be found by hash.

vLLM keeps one list of free blocks: those without a hash at its head, most recently freed first; those with a hash at
its tail, least recently freed first. The two parts never mix, so here they are a stack and an ordered dict, and a block
is its id. Block 0 is never handed out (vLLM's null block).
"""

from collections import OrderedDict
from collections.abc import Sequence

from mockvllm.engine.kv_events import AllBlocksCleared, BlockRemoved, KVEvent
from mockvllm.engine.request import BlockHash


class BlockPool:
    """`num_gpu_blocks` - 1 usable blocks. `events` receives removals and resets; None when nobody wants them."""

    def __init__(self, num_gpu_blocks: int, enable_caching: bool, events: list[KVEvent] | None = None) -> None:
        self.num_usable_blocks = num_gpu_blocks - 1
        self._enable_caching = enable_caching
        self._events = events
        self._unhashed = list(range(num_gpu_blocks - 1, 0, -1))  # a stack: the next block to use is at its end
        self._evictable: OrderedDict[int, None] = OrderedDict()  # hashed and free, next victim first
        self._ref_cnt = [0] * num_gpu_blocks
        self._hash: list[BlockHash | None] = [None] * num_gpu_blocks
        self._cached: dict[BlockHash, list[int]] = {}  # every copy, the one that was hashed first in front

    @property
    def num_free_blocks(self) -> int:
        return len(self._unhashed) + len(self._evictable)

    def get_cached_block(self, block_hash: BlockHash) -> int | None:
        """The block with this hash: of several copies the oldest."""
        copies = self._cached.get(block_hash)
        return copies[0] if copies else None

    def num_free_of(self, block_ids: Sequence[int]) -> int:
        """How many of these cached blocks are free, so that using them takes them from the free ones."""
        return sum(1 for block in block_ids if not self._ref_cnt[block])

    def touch(self, block_ids: Sequence[int]) -> None:
        """One more request uses these cached blocks."""
        for block in block_ids:
            if not self._ref_cnt[block]:
                del self._evictable[block]
            self._ref_cnt[block] += 1

    def get_new_blocks(self, count: int) -> list[int]:
        """Takes `count` free blocks, which must exist; hashed ones among them are evicted from the cache."""
        unhashed = self._unhashed
        split = max(0, len(unhashed) - count)
        blocks = unhashed[split:]
        del unhashed[split:]
        blocks.reverse()
        while len(blocks) < count:
            block, _ = self._evictable.popitem(last=False)
            self._evict(block)
            blocks.append(block)
        if self._enable_caching:
            for block in blocks:
                self._ref_cnt[block] = 1
        return blocks

    def cache_block(self, block: int, block_hash: BlockHash) -> None:
        """Makes a full block findable."""
        self._hash[block] = block_hash
        self._cached.setdefault(block_hash, []).append(block)

    def free_blocks(self, block_ids: Sequence[int]) -> None:
        """A request gives its blocks back. The last block of a sequence is used again, or evicted, before the first."""
        if not self._enable_caching:
            self._unhashed.extend(block_ids)
            return
        unhashed: list[int] = []
        for block in reversed(block_ids):
            self._ref_cnt[block] -= 1
            if self._ref_cnt[block]:
                continue
            if self._hash[block] is None:
                unhashed.append(block)
            else:
                self._evictable[block] = None
        unhashed.reverse()
        self._unhashed.extend(unhashed)

    def reset_prefix_cache(self) -> bool:
        """Forgets every hash; False, and nothing done, while any block is in use."""
        if self.num_free_blocks < self.num_usable_blocks:
            return False
        self._unhashed[:0] = reversed(self._evictable)
        self._evictable.clear()
        self._cached.clear()
        self._hash = [None] * len(self._hash)
        if self._events is not None:
            self._events.append(AllBlocksCleared())
        return True

    def _evict(self, block: int) -> None:
        block_hash = self._hash[block]
        assert block_hash is not None
        self._hash[block] = None
        copies = self._cached[block_hash]
        copies.remove(block)
        if not copies:
            del self._cached[block_hash]
        if self._events is not None:
            self._events.append(BlockRemoved(block_hash))


class CountedBlockPool(BlockPool):
    """For whoever does not care which block it is that a request gets: without prefix caching nothing depends on it.

    `num_reserved` blocks count as used, though nobody has taken them yet.
    """

    def __init__(self, num_gpu_blocks: int) -> None:
        super().__init__(1, enable_caching=False)
        self.num_usable_blocks = self._num_untaken = num_gpu_blocks - 1
        self.num_reserved = 0

    @property
    def num_free_blocks(self) -> int:
        return self._num_untaken - self.num_reserved

    def get_new_blocks(self, count: int) -> list[int]:
        self._num_untaken -= count
        return [0] * count

    def free_blocks(self, block_ids: Sequence[int]) -> None:
        self._num_untaken += len(block_ids)

    def take_reserved(self, count: int) -> list[int]:
        """Blocks that were reserved."""
        self.num_reserved -= count
        return self.get_new_blocks(count)
