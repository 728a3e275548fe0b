"""The pool against vLLM's own picture of it: one list of free blocks, and a hash on some of them."""

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockvllm.engine.block_pool import BlockPool
from mockvllm.engine.kv_events import AllBlocksCleared, BlockRemoved, KVEvent


@dataclass
class OneList:
    """The rule, word for word: head = next to be used; unhashed blocks go back to the head as a group, hashed ones to
    the tail, each request's last block first; a hit leaves the list where it stands."""

    free: list[int]
    caching: bool
    hashes: dict[int, str] = field(default_factory=dict)
    users: dict[int, int] = field(default_factory=dict)

    def take(self, count: int) -> list[int]:
        taken, self.free = self.free[:count], self.free[count:]
        for block in taken:
            self.hashes.pop(block, None)
            self.users[block] = 1
        return taken

    def release(self, blocks: list[int]) -> None:
        head, tail = [], []
        for block in reversed(blocks):
            self.users[block] -= 1
            if not self.users[block]:
                (tail if self.caching and block in self.hashes else head).append(block)
        self.free = head + self.free + tail

    def find(self, block_hash: str) -> int | None:
        return next((block for block, h in self.hashes.items() if h == block_hash), None)

    def touch(self, block: int) -> None:
        if not self.users.get(block):
            self.free.remove(block)
        self.users[block] = self.users.get(block, 0) + 1


@given(caching=st.booleans(), moves=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 9)), max_size=60))
def test_the_order_of_use_is_that_of_one_list(caching: bool, moves: list[tuple[int, int]]) -> None:
    pool, model = BlockPool(12, caching), OneList(list(range(1, 12)), caching)
    held: list[list[int]] = []
    for move, n in moves:
        if move == 0 and n <= pool.num_free_blocks:
            held.append(pool.get_new_blocks(n))
            assert held[-1] == model.take(n)
        elif move == 1 and held:
            blocks = held.pop(n % len(held))
            pool.free_blocks(blocks)
            model.release(blocks)
        elif move == 2 and held and caching:
            for block in held[n % len(held)]:
                if block not in model.hashes:
                    block_hash = f"h{n % 4}"
                    pool.cache_block(block, block_hash)
                    model.hashes[block] = block_hash
                    break
        elif move == 3:
            block = pool.get_cached_block(f"h{n % 4}")
            assert block == model.find(f"h{n % 4}")
            if block is not None:
                assert pool.num_free_of([block]) == (block in model.free)
                pool.touch([block])
                model.touch(block)
                held.append([block])
        assert pool.num_free_blocks == len(model.free)
    assert pool.get_new_blocks(pool.num_free_blocks) == model.free


def test_a_removed_copy_is_announced_and_the_other_copy_still_found() -> None:
    events: list[KVEvent] = []
    pool = BlockPool(3, True, events)
    first, second = pool.get_new_blocks(2)
    pool.cache_block(first, "h")
    pool.cache_block(second, "h")
    pool.free_blocks([first])
    assert pool.get_new_blocks(1) == [first]
    assert events == [BlockRemoved("h")]
    assert pool.get_cached_block("h") == second


def test_reset_needs_all_blocks_free_and_keeps_their_order() -> None:
    events: list[KVEvent] = []
    pool = BlockPool(6, True, events)
    blocks = pool.get_new_blocks(3)
    for block in blocks[:2]:
        pool.cache_block(block, f"h{block}")
    assert not pool.reset_prefix_cache()
    assert events == []
    pool.free_blocks(blocks)
    assert pool.reset_prefix_cache()
    assert events == [AllBlocksCleared()]
    assert pool.get_cached_block("h1") is None
    assert pool.get_new_blocks(5) == [3, 4, 5, 2, 1]


@pytest.mark.parametrize("num_gpu_blocks", [1, 2, 100])
def test_block_zero_is_never_handed_out(num_gpu_blocks: int) -> None:
    pool = BlockPool(num_gpu_blocks, True)
    assert pool.num_free_blocks == pool.num_usable_blocks == num_gpu_blocks - 1
    assert 0 not in pool.get_new_blocks(pool.num_free_blocks)
