"""What a request finds in the prefix cache, and what listeners hear of it."""

from collections.abc import Sequence

import pytest
from workloads import Words, linear, play_steps, request

from mockvllm.engine import (
    AllBlocksCleared,
    BlockRemoved,
    BlockStored,
    Engine,
    EngineCore,
    EngineListener,
    KVEvent,
    Request,
    RequestOutput,
    SchedulerStats,
)


class Heard(EngineListener):
    def __init__(self) -> None:
        self.events: list[KVEvent] = []
        self.stats: list[SchedulerStats] = []

    def kv(self, events: Sequence[KVEvent], now: float) -> None:
        self.events += events

    def step(self, results: Sequence[RequestOutput], stats: SchedulerStats, now: float) -> None:
        self.stats.append(stats)

    def stored(self) -> list[BlockStored]:
        return [event for event in self.events if isinstance(event, BlockStored)]


def run(engine: Engine, r: Request) -> Request:
    engine.add(r, 0.0)
    for _ in play_steps(EngineCore(engine)):
        pass
    return r


SHARED = range(5000, 5100)


@pytest.mark.parametrize("block_size", [4, 16])
@pytest.mark.parametrize(("common", "prompt"), [(32, 40), (31, 40), (40, 40), (48, 48), (3, 40), (0, 40)])
def test_a_hit_is_whole_blocks_and_leaves_the_last_token_to_compute(block_size: int, common: int, prompt: int) -> None:
    engine = linear(block_size=block_size)
    run(engine, request("a", prompt_token_ids=list(SHARED[:prompt]), max_tokens=1))
    b = request("b", prompt_token_ids=[*SHARED[:common], *range(9000, 9000 + prompt - common)], max_tokens=1)
    run(engine, b)
    assert b.num_cached_tokens == min(common, prompt - 1) // block_size * block_size


def test_output_blocks_are_found_too_but_not_the_last_tokens() -> None:
    """A conversation goes on: the answer's KV is there up to the token before its last."""
    engine = linear()
    run(engine, request("a", prompt_token_ids=list(SHARED[:16]), max_tokens=17, outputs=Words()))
    b = run(engine, request("b", prompt_token_ids=[*SHARED[:16], *range(100, 117), 7], max_tokens=1))
    c = run(engine, request("c", prompt_token_ids=[*SHARED[:16], *range(100, 132), 7], max_tokens=1))
    assert (b.num_cached_tokens, c.num_cached_tokens) == (32, 32)


@pytest.mark.parametrize(
    ("first", "second", "hit"),
    [
        ({}, {}, 32),
        ({"cache_salt": "x"}, {"cache_salt": "x"}, 32),
        ({"cache_salt": "x"}, {"cache_salt": "y"}, 0),
        ({"cache_salt": "x"}, {}, 0),
        ({"cache_salt": ""}, {}, 32),
        ({"lora_name": "l"}, {"lora_name": "l"}, 32),
        ({"lora_name": "l"}, {}, 0),
        ({"lora_name": "l", "lora_path": "/1"}, {"lora_name": "l", "lora_path": "/2"}, 0),
        ({}, {"skip_reading_prefix_cache": True}, 0),
        ({"skip_reading_prefix_cache": True}, {}, 32),
    ],
)
def test_salt_and_adapter_part_what_tokens_share(first: dict[str, str], second: dict[str, str], hit: int) -> None:
    engine = linear()
    run(engine, request("a", prompt_token_ids=list(SHARED[:40]), **first))
    assert run(engine, request("b", prompt_token_ids=list(SHARED[:40]), **second)).num_cached_tokens == hit


def test_events_carry_hashes_tokens_and_extra_keys() -> None:
    heard = Heard()
    engine = linear(listeners=[heard])
    a = request("a", prompt_token_ids=list(SHARED[:40]), max_tokens=9, cache_salt="s", lora_name="l", lora_path="/p")
    run(engine, a)
    prompt, output = heard.stored()
    assert (prompt.request, prompt.parent_block_hash, prompt.block_size) == (a, None, 16)
    assert prompt.token_ids == tuple(SHARED[:32])
    assert prompt.block_hashes == tuple(a.block_hashes[:2])
    assert prompt.extra_keys == ((("lora", "l", "/p"), ("cache_salt", "s")), (("lora", "l", "/p"),))
    assert (output.parent_block_hash, output.block_hashes) == (a.block_hashes[1], (a.block_hashes[2],))
    assert output.token_ids == (*SHARED[32:40], *range(100, 108))


def test_a_hit_is_silent_unless_the_request_wants_it_reported() -> None:
    heard = Heard()
    engine = linear(listeners=[heard])
    run(engine, request("a", prompt_token_ids=list(SHARED[:40]), max_tokens=1))
    run(engine, request("b", prompt_token_ids=list(SHARED[:40]), max_tokens=1))
    assert len(heard.stored()) == 1
    run(engine, request("c", prompt_token_ids=list(SHARED[:40]), max_tokens=1, report_cached_blocks=True))
    first, again = heard.stored()
    assert (again.block_hashes, again.token_ids) == (first.block_hashes, first.token_ids)


def test_removals_come_before_the_store_that_caused_them() -> None:
    heard = Heard()
    engine = linear(listeners=[heard], num_gpu_blocks=4)
    run(engine, request("a", prompt=40, max_tokens=1))
    run(engine, request("b", prompt=40, max_tokens=1))
    kinds = [type(event) for event in heard.events]
    assert kinds == [BlockStored, BlockRemoved, BlockRemoved, BlockStored]
    assert engine.reset_prefix_cache(False, 0.0)
    assert engine.take_kv_events() == [AllBlocksCleared()]


def test_without_a_listener_for_them_no_event_is_built() -> None:
    engine = linear(listeners=[EngineListener()])
    run(engine, request("a", prompt=40))
    assert engine.reset_prefix_cache(False, 0.0)
    assert engine.take_kv_events() == []


def test_statistics_count_admissions_and_their_hits_once() -> None:
    heard = Heard()
    engine = linear(listeners=[heard])
    run(engine, request("a", prompt_token_ids=list(SHARED[:40]), max_tokens=2))
    run(engine, request("b", prompt_token_ids=list(SHARED[:41]), max_tokens=2))
    counts = [stats.prefix_cache_stats for stats in heard.stats if stats.prefix_cache_stats.requests]
    assert [(c.requests, c.queries, c.hits) for c in counts] == [(1, 40, 0), (1, 41, 32)]


def test_usage_counts_held_blocks_only() -> None:
    heard = Heard()
    run(linear(listeners=[heard], num_gpu_blocks=11), request("a", prompt=40, max_tokens=2))
    assert [round(stats.kv_cache_usage, 6) for stats in heard.stats][:2] == [0.3, 0.0]
