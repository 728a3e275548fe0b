"""KV cache of one engine: which blocks a request holds, what it finds in the prefix cache (vLLM's KVCacheManager)."""

from collections.abc import Iterable
from dataclasses import dataclass

from mockvllm.engine.block_pool import BlockPool
from mockvllm.engine.config import SchedulerConfig
from mockvllm.engine.hashing import HashBlock, extend_block_hashes, extra_keys
from mockvllm.engine.kv_events import BlockStored, KVEvent
from mockvllm.engine.request import NEVER, Request


@dataclass(slots=True)
class PrefixCacheStats:
    """Lookups of admitted requests, in tokens; those of requests that had been preempted are counted apart."""

    requests: int = 0
    queries: int = 0
    hits: int = 0
    preempted_requests: int = 0
    preempted_queries: int = 0
    preempted_hits: int = 0

    def record(self, request: Request, num_hit_tokens: int) -> None:
        if request.num_preemptions:
            self.preempted_requests += 1
            self.preempted_queries += request.num_tokens
            self.preempted_hits += num_hit_tokens
        else:
            self.requests += 1
            self.queries += request.num_tokens
            self.hits += num_hit_tokens


class KVCacheManager:
    """`events`: where KV events are gathered, None when nobody wants them. `pool`: where the blocks are from."""

    def __init__(
        self,
        config: SchedulerConfig,
        hash_block: HashBlock,
        events: list[KVEvent] | None = None,
        pool: BlockPool | None = None,
    ) -> None:
        self.block_size = config.block_size
        self.enable_caching = config.enable_prefix_caching
        self.prefix_cache_stats = PrefixCacheStats()
        self.pool = pool or BlockPool(config.num_gpu_blocks, config.enable_prefix_caching, events)
        self._num_usable_blocks = self.pool.num_usable_blocks or 1
        self._events = events
        self._hash_block = hash_block
        self._max_model_len = config.max_model_len
        self._reserve_full_isl = config.scheduler_reserve_full_isl
        self._watermark_blocks = int(config.watermark * config.num_gpu_blocks)

    @property
    def usage(self) -> float:
        """Share of the usable blocks that are held, 0 to 1; cached blocks that nobody holds count as free."""
        return 1.0 - self.pool.num_free_blocks / self._num_usable_blocks

    def usages_with(self, num_free_blocks: Iterable[int]) -> list[float]:
        """The same if so many were free."""
        usable = self._num_usable_blocks
        return [1.0 - free / usable for free in num_free_blocks]

    def num_blocks_for(self, num_tokens: int) -> int:
        return -(-num_tokens // self.block_size)

    def get_computed_blocks(self, request: Request) -> list[int]:
        """The cached blocks that `request` starts with. At least its last token remains to be computed."""
        if not self.enable_caching or request.skip_reading_prefix_cache:
            return []
        most = (request.num_tokens - 1) // self.block_size
        extend_block_hashes(request, most, self.block_size, self._hash_block)
        found: list[int] = []
        for block_hash in request.block_hashes[:most]:
            block = self.pool.get_cached_block(block_hash)
            if block is None:
                break
            found.append(block)
        return found

    def admit(
        self,
        request: Request,
        hits: list[int],
        num_new_tokens: int,
        others_run: bool,
        delay_cache_blocks: bool = False,
    ) -> bool:
        """Gives a waiting request the cached blocks and those for its first chunk; False, and nothing done, if they are
        not free. With `scheduler_reserve_full_isl` all its known tokens must fit; never what it is yet to say.

        `delay_cache_blocks`: nobody may find the new ones, for nothing is in them yet."""
        end = min(len(hits) * self.block_size + num_new_tokens, self._max_model_len)
        must_fit = min(request.num_tokens, self._max_model_len) if self._reserve_full_isl else end
        free = self.pool.num_free_blocks - (self.pool.num_free_of(hits) if hits else 0)
        if others_run:
            free -= self._watermark_blocks
        if self.num_blocks_for(must_fit) - len(hits) > free:
            return False
        if hits:
            self.pool.touch(hits)
            request.num_cached_blocks = len(hits)
            if request.report_cached_blocks:
                self._publish(request, 0, len(hits))
        self._extend(request, hits, end, delay_cache_blocks)
        return True

    def allocate_slots(self, request: Request, num_new_tokens: int) -> bool:
        """Gives a running request the blocks for its next tokens; False, and nothing done, if they are not free."""
        end = min(request.num_computed_tokens + num_new_tokens, self._max_model_len)
        if self.num_blocks_for(end) - len(request.block_ids) > self.pool.num_free_blocks:
            return False
        self._extend(request, [], end)
        return True

    def _extend(self, request: Request, hits: list[int], end: int, delay_cache_blocks: bool = False) -> None:
        blocks = request.block_ids
        blocks += hits
        missing = self.num_blocks_for(end) - len(blocks)
        if missing > 0:
            blocks += self.pool.get_new_blocks(missing)
        request.num_slots = len(blocks) * self.block_size
        if self.enable_caching and not delay_cache_blocks:
            self.cache_blocks(request, min(end, request.num_tokens))

    def cache_blocks(self, request: Request, num_tokens: int) -> None:
        """Makes the blocks that are full within the first `num_tokens` (known) tokens findable."""
        start, stop = request.num_cached_blocks, num_tokens // self.block_size
        if stop > start:
            extend_block_hashes(request, stop, self.block_size, self._hash_block)
            for index in range(start, stop):
                self.pool.cache_block(request.block_ids[index], request.block_hashes[index])
            request.num_cached_blocks = stop
            self._publish(request, start, stop)
        request.hash_at = (request.num_cached_blocks + 1) * self.block_size

    def free(self, request: Request) -> int:
        """Takes all blocks from `request`, which stay findable; returns how many it held."""
        blocks = self.take_blocks(request)
        self.pool.free_blocks(blocks)
        return len(blocks)

    def take_blocks(self, request: Request) -> list[int]:
        """Takes all blocks from `request`; they are still held."""
        blocks, request.block_ids = request.block_ids, []
        request.num_slots = request.num_cached_blocks = 0
        request.hash_at = NEVER
        return blocks

    def _publish(self, request: Request, start: int, stop: int) -> None:
        if self._events is None:
            return
        self._events.append(
            BlockStored(
                request=request,
                block_hashes=tuple(request.block_hashes[start:stop]),
                parent_block_hash=request.block_hashes[start - 1] if start else None,
                token_ids=request.token_ids(start * self.block_size, stop * self.block_size),
                block_size=self.block_size,
                extra_keys=tuple(extra_keys(request, index) for index in range(start, stop)),
            )
        )
