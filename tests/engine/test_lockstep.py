"""Lockstep changes nothing: every event, at its time, with its figures, is that of stepping request by request."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mockvllm import profiles
from mockvllm.clock import VirtualClock
from mockvllm.clock.driver import Driver
from mockvllm.engine import (
    Engine,
    EngineCore,
    EngineListener,
    KVEvent,
    Linear,
    Request,
    RequestOutput,
    SchedulerConfig,
    SchedulerOutput,
    SchedulerStats,
    StepTime,
)
from mockvllm.engine.measured import Point, StepFigures, Table, Trace
from mockvllm.engine.roofline import Devices, ModelShape, Roofline
from mockvllm.engine.spread import Spread


@dataclass(frozen=True)
class Speech:
    """Ids from `first` on; a stop token at one place, or an end without one."""

    first: int
    stop_at: int | None = None
    end: int | None = None

    def token(self, index: int) -> int:
        return self.tokens(index, index + 1)[0]

    def tokens(self, start: int, stop: int) -> Sequence[int]:
        return [STOP if index == self.stop_at else self.first + index for index in range(start, stop)]


STOP = 3
LONGEST = 2000  # batches: two requests can evict each other forever, as in vLLM


class Endless(Exception):  # noqa: N818 - it is no error
    """The run was cut."""


@dataclass(frozen=True)
class Visit:
    """A request, and when its client leaves."""

    at: float
    prompt: int
    shared: int
    max_tokens: int
    priority: int = 0
    stop_at: int | None = None
    end: int | None = None
    leaves_after: float | None = None

    def request(self, index: int) -> Request:
        shared = min(self.shared, self.prompt)
        return Request(
            f"r{index}",
            [*range(10, 10 + shared), *range(1000 * (index + 1), 1000 * (index + 1) + self.prompt - shared)],
            self.max_tokens,
            Speech(1_000_000 * (index + 1), self.stop_at, self.end),
            self.at,
            priority=self.priority,
            stop_token_ids=(STOP,) if self.stop_at is not None else (),
        )


class Story(EngineListener):
    """Everything that happens to requests, and the state after each step."""

    def __init__(self) -> None:
        self.events: list[tuple[object, ...]] = []
        self.num_steps = 0
        self.num_results = 0

    def queued(self, request: Request, now: float) -> None:
        self.events.append(("queued", now, request.request_id))

    def scheduled(self, request: Request, num_hit_tokens: int, now: float) -> None:
        self.events.append(("scheduled", now, request.request_id, num_hit_tokens, request.num_tokens))

    def preempted(self, request: Request, num_computed_tokens: int, num_blocks: int, now: float) -> None:
        said = (request.num_output_tokens, request.num_in_flight_tokens, request.last_token_at)
        self.events.append(("preempted", now, request.request_id, num_computed_tokens, num_blocks, *said))

    def finished(self, request: Request, num_blocks: int, now: float) -> None:
        times = (request.scheduled_at, request.first_token_at, request.last_token_at)
        said = (request.finish_reason, request.num_output_tokens)
        self.events.append(("finished", now, request.request_id, num_blocks, *said, *times))

    def step(self, results: Sequence[RequestOutput], stats: SchedulerStats, now: float) -> None:
        self.num_results += len(results)
        num_tokens = sum(result.num_new_tokens for result in results) + stats.num_lockstep_tokens
        self.step_is_done(stats, num_tokens, now, stats.kv_cache_usage)

    def step_is_done(self, stats: SchedulerStats, num_tokens: int, now: float, usage: float) -> None:
        cache = stats.prefix_cache_stats
        figures = (stats.num_running_reqs, stats.num_waiting_reqs, usage, cache.queries, cache.hits)
        self.events.append(("step", now, num_tokens, *figures))
        self.num_steps += 1
        if self.num_steps > LONGEST:
            raise Endless


class LeapingStory(Story):
    """The same, told of many steps at once."""

    def leapt(self, stats: SchedulerStats, times: Sequence[float], usages: Sequence[float]) -> None:
        for now, usage in zip(times, usages, strict=True):
            self.step_is_done(stats, stats.num_lockstep_tokens, now, usage)


class DetailedStory(Story):
    """Also every batch, and what happens to the prefix cache."""

    def batch(self, output: SchedulerOutput, now: float) -> None:
        figures = (output.num_seqs, output.num_decodes, output.num_kv_tokens, output.num_attention_pairs)
        self.events.append(("batch", now, output.total_num_scheduled_tokens, output.step_seconds, *figures))
        assert sum(context for _, context in output.contexts()) == output.num_kv_tokens

    def kv(self, events: Sequence[KVEvent], now: float) -> None:
        self.events += [("kv", now, type(event).__name__, getattr(event, "block_hashes", ())) for event in events]


def play(
    story: Story,
    config: SchedulerConfig,
    step_time: StepTime,
    visits: Sequence[Visit],
    *,
    profile: str = "0.33",
    lockstep: bool = True,
    loop: int = 0,
    pauses: Sequence[float] = (),
) -> Story:
    """The visits arrive at their times; each of the first `loop` that ends is followed by another of its kind.
    `pauses`: where the clock stops on the way."""
    clock = VirtualClock()
    rules = profiles.load(profile).scheduler
    engine = Engine(config, step_time, listeners=[story], rules=rules, lockstep=lockstep)
    sent = 0

    def deliver(results: list[RequestOutput], now: float) -> None:
        nonlocal loop
        for result in results:
            if result.finish_reason is not None and loop > 0:
                loop -= 1
                send(visits[result.request.owner])

    def send(visit: Visit) -> None:
        nonlocal sent
        request = visit.request(sent)
        request.owner = visits.index(visit)
        request.arrival_time = clock.now()
        sent += 1
        if engine.kv_cache.num_blocks_for(visit.prompt + visit.max_tokens) <= engine.kv_cache.pool.num_usable_blocks:
            driver.add(request)
        if visit.leaves_after is not None:
            clock.call_at(clock.now() + visit.leaves_after, lambda: driver.abort(request))

    driver = Driver(EngineCore(engine), clock, deliver)
    for visit in visits:
        clock.call_at(visit.at, lambda visit=visit: send(visit))
    with suppress(Endless):
        for moment in pauses:
            clock.run(until=moment)
            assert clock.now() == pytest.approx(moment)
        clock.run()
        assert (engine.num_running, engine.num_waiting) == (0, 0)
        assert engine.num_free_blocks == config.num_gpu_blocks - 1
    return story


moments = st.integers(0, 60).map(lambda tick: tick / 8)
visits = st.builds(
    Visit,
    at=moments,
    prompt=st.integers(1, 40),
    shared=st.sampled_from([0, 8, 40]),
    max_tokens=st.integers(1, 60),
    priority=st.integers(0, 2),
    stop_at=st.none() | st.integers(0, 70),
    end=st.none() | st.integers(1, 70),
    leaves_after=st.none() | moments,
)
configs = st.builds(
    SchedulerConfig,
    num_gpu_blocks=st.integers(20, 80),
    block_size=st.sampled_from([1, 2, 4, 16]),
    max_num_seqs=st.integers(1, 8),
    max_num_batched_tokens=st.sampled_from([3, 8, 20, 64, 1000]),
    max_model_len=st.sampled_from([50, 70, 1000]),
    enable_prefix_caching=st.booleans(),
    long_prefill_token_threshold=st.sampled_from([0, 0, 5]),
    policy=st.sampled_from(["fcfs", "priority"]),
    scheduler_reserve_full_isl=st.booleans(),
    watermark=st.sampled_from([0.0, 0.0, 0.1]),
    prefill_schedule_interval=st.sampled_from([1, 1, 3]),
    async_scheduling=st.booleans(),
)
linear = st.builds(
    Linear,
    base=st.sampled_from([0.0, 0.125, 0.04]),
    per_prefill_token=st.sampled_from([0.0, 0.001]),
    per_decode_seq=st.sampled_from([0.0, 0.002]),
    per_kv_token=st.sampled_from([0.0, 0.0001]),
)
SHAPE = ModelShape(
    layers=2, hidden_size=64, query_size=64, kv_heads=2, kv_bytes=512, weight_bytes=1e6, weight_flops=1e6
)
DEVICES = Devices(count=1, memory_bandwidth=1e8, flops=1e9, link_bandwidth=1e8)
POINTS = [Point(StepFigures(*corner), 0.01 + sum(corner) / 5000) for corner in product((0, 50), (0, 9), (0, 300))]
step_times = st.one_of(
    linear,
    st.builds(Spread, linear, st.just(0.2), st.integers(0, 3)),
    st.sampled_from([Roofline(SHAPE, DEVICES), Roofline(replace(SHAPE, sliding_kv_share=0.5, window=12), DEVICES)]),
    st.sampled_from([Table(POINTS), Trace(POINTS)]),
)


scenarios = {
    "config": configs,
    "step_time": step_times,
    "visits": st.lists(visits, min_size=1, max_size=12),
    "profile": st.sampled_from(profiles.NAMES),
    "loop": st.integers(0, 20),
}


crowded = {
    "config": st.builds(
        SchedulerConfig,
        num_gpu_blocks=st.integers(30, 60),
        block_size=st.sampled_from([2, 4]),
        max_num_seqs=st.integers(3, 9),
        max_num_batched_tokens=st.sampled_from([9, 12, 20, 64]),
        max_model_len=st.just(90),
        enable_prefix_caching=st.booleans(),
        long_prefill_token_threshold=st.sampled_from([0, 0, 6]),
        policy=st.sampled_from(["fcfs", "priority", "priority"]),
        scheduler_reserve_full_isl=st.booleans(),
        async_scheduling=st.booleans(),
    ),
    "step_time": st.just(Linear(0.125)),
    "visits": st.lists(
        st.builds(
            Visit,
            at=st.integers(0, 24).map(lambda tick: tick / 8),
            prompt=st.integers(1, 16) | st.integers(1, 50),
            shared=st.sampled_from([0, 8]),
            max_tokens=st.integers(8, 40),
            priority=st.integers(0, 2),
        ),
        min_size=4,
        max_size=14,
    ),
    "profile": st.sampled_from(profiles.NAMES),
    "loop": st.integers(0, 20),
}


def assert_same(story: Story, expected: Story) -> None:
    for event, expected_event in zip(story.events, expected.events, strict=False):
        assert event == expected_event
    assert story.num_steps > LONGEST or len(story.events) == len(expected.events)


@settings(max_examples=200, deadline=None)
@given(**scenarios)
def test_every_event_is_that_of_plain_stepping(**scenario: Any) -> None:
    assert_same(play(DetailedStory(), **scenario), play(DetailedStory(), **scenario, lockstep=False))


@settings(max_examples=300, deadline=None)
@given(leaping=st.booleans(), **crowded)
def test_so_it_is_where_blocks_seats_and_budget_are_short(leaping: bool, **scenario: Any) -> None:
    story, plain = (LeapingStory(), Story()) if leaping else (DetailedStory(), DetailedStory())
    assert_same(play(story, **scenario), play(plain, **scenario, lockstep=False))


@settings(max_examples=200, deadline=None)
@given(pauses=st.lists(moments, max_size=2).map(sorted), **scenarios)
def test_leaps_over_many_steps_leave_out_nothing(pauses: list[float], **scenario: Any) -> None:
    assert_same(play(LeapingStory(), **scenario, pauses=pauses), play(Story(), **scenario, lockstep=False))


@pytest.mark.parametrize("async_scheduling", [False, True])
def test_a_prompt_in_front_takes_the_budget_of_those_behind(async_scheduling: bool) -> None:
    config = SchedulerConfig(
        num_gpu_blocks=100,
        block_size=4,
        max_num_batched_tokens=9,
        long_prefill_token_threshold=6,
        enable_prefix_caching=False,
        async_scheduling=async_scheduling,
    )
    visits = [Visit(at=0.0, prompt=90, shared=0, max_tokens=5)]
    visits += [Visit(at=0.0, prompt=1, shared=0, max_tokens=60) for _ in range(5)]
    plain = play(DetailedStory(), config, Linear(0.04), visits, lockstep=False)
    assert_same(play(DetailedStory(), config, Linear(0.04), visits), plain)


ROOMY = SchedulerConfig(num_gpu_blocks=200, block_size=16, enable_prefix_caching=False)
TALKERS = [Visit(at=0.0, prompt=20, shared=0, max_tokens=100, leaves_after=None) for _ in range(4)]


def test_members_have_no_results_and_are_counted() -> None:
    """Of each request the first token and the last are told, and what is around them."""
    together, plain = (play(Story(), ROOMY, Linear(0.04), TALKERS, lockstep=lockstep) for lockstep in (True, False))
    assert plain.num_results == 400
    assert together.num_results < 20
    assert together.num_steps == plain.num_steps


class Leaps(LeapingStory):
    """How many steps each leap took."""

    def __init__(self) -> None:
        super().__init__()
        self.leaps: list[int] = []

    def leapt(self, stats: SchedulerStats, times: Sequence[float], usages: Sequence[float]) -> None:
        self.leaps.append(len(times))
        super().leapt(stats, times, usages)


def test_a_leap_ends_where_something_happens() -> None:
    arrival = Visit(at=2.0, prompt=20, shared=0, max_tokens=100)
    story = play(Leaps(), ROOMY, Linear(0.04), [*TALKERS, arrival])
    assert len(story.leaps) == 3  # until the arrival, until the first ones end, until the last one does
    assert sum(story.leaps) > 120
    assert story.num_steps == 2.0 / 0.04 + 100 + 2


def test_who_is_told_of_single_steps_is_not_leapt_over() -> None:
    class Both(Leaps):
        def kv(self, events: Sequence[KVEvent], now: float) -> None: ...

    assert play(Both(), ROOMY, Linear(0.04), TALKERS).leaps == []


def test_settling_brings_the_fields_of_members_up_to_date() -> None:
    clock = VirtualClock()
    engine = Engine(ROOMY, Linear(0.04), lockstep=True)
    driver = Driver(EngineCore(engine), clock, lambda results, now: None)
    requests = [visit.request(number) for number, visit in enumerate(TALKERS)]
    for request in requests:
        driver.add(request)
    clock.run(until=0.999)
    engine.settle()
    said = int(0.999 / 0.04)
    for request in requests:
        assert request.num_output_tokens == said
        assert request.num_computed_tokens == 20 + said + 1  # asynchronous: one more is on its way
        assert request.num_in_flight_tokens == 2
        assert request.last_token_at == pytest.approx(said * 0.04)
        assert len(request.block_ids) == -(-request.num_computed_tokens // 16)
    clock.run()
    assert [request.num_output_tokens for request in requests] == [100] * 4
