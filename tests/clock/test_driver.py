"""One engine, three clocks: the same scenario gives the same order of events under each."""

import asyncio
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import pytest
import uvloop

from mockvllm.clock import Clock, LiveClock, ManualClock, VirtualClock
from mockvllm.clock.driver import Driver
from mockvllm.engine import (
    Engine,
    EngineCore,
    EngineListener,
    Fixed,
    Linear,
    Pacing,
    Request,
    RequestOutput,
    SchedulerConfig,
    SchedulerStats,
    StepTime,
)


class Words:
    """Tokens 100, 101, ...; never an end."""

    end = None

    def token(self, index: int) -> int:
        return 100 + index

    def tokens(self, start: int, stop: int) -> Sequence[int]:
        return range(100 + start, 100 + stop)


class Record(EngineListener):
    """Every state change, in order, with its time apart."""

    def __init__(self) -> None:
        self.events: list[str] = []
        self.times: list[float] = []
        self.began = 0.0

    def _note(self, event: str, now: float) -> None:
        self.events.append(event)
        self.times.append(now - self.began)

    def queued(self, request: Request, now: float) -> None:
        self._note(f"queued {request.request_id}", now)

    def scheduled(self, request: Request, num_hit_tokens: int, now: float) -> None:
        self._note(f"scheduled {request.request_id} hit {num_hit_tokens}", now)

    def preempted(self, request: Request, num_computed_tokens: int, num_blocks: int, now: float) -> None:
        self._note(f"preempted {request.request_id} at {num_computed_tokens}", now)

    def finished(self, request: Request, num_blocks: int, now: float) -> None:
        self._note(f"finished {request.request_id} {request.finish_reason}, {num_blocks} blocks", now)

    def step(self, results: Sequence[RequestOutput], stats: SchedulerStats, now: float) -> None:
        said = " ".join(f"{result.request.request_id}+{result.num_new_tokens}" for result in results)
        self._note(f"step {said}; running {stats.num_running_reqs} waiting {stats.num_waiting_reqs}", now)


@dataclass
class Plan:
    """An arrival, or with `abort` a leaving, at `at` seconds."""

    at: float
    request_id: str
    prompt: int = 0
    max_tokens: int = 0
    priority: int = 0
    abort: bool = False


CROWDED = SchedulerConfig(num_gpu_blocks=13, block_size=4, max_num_seqs=4, max_num_batched_tokens=64, policy="fcfs")
PREEMPTION_AND_ABORT = [
    Plan(0.000, "a", prompt=14, max_tokens=12),
    Plan(0.005, "b", prompt=14, max_tokens=12),
    Plan(0.052, "c", prompt=9, max_tokens=6),
    Plan(0.137, "b", abort=True),
    Plan(0.250, "d", prompt=5, max_tokens=3),
]


def play(clock: Clock, step_time: StepTime, config: SchedulerConfig, plans: Sequence[Plan]) -> Record:
    record, requests = Record(), {}
    driver = Driver(EngineCore(Engine(config, step_time, listeners=[record])), clock, lambda outputs, now: None)

    def act(plan: Plan) -> Callable[[], None]:
        if plan.abort:
            return lambda: driver.abort(requests[plan.request_id])

        def arrive() -> None:
            prompt = [hash((plan.request_id, i)) % 9000 for i in range(plan.prompt)]
            request = Request(plan.request_id, prompt, plan.max_tokens, Words(), clock.now(), priority=plan.priority)
            requests[plan.request_id] = request
            driver.add(request)

        return arrive

    record.began = clock.now()
    for plan in plans:
        clock.call_at(record.began + plan.at, act(plan))
    return record


def play_virtual(step_time: StepTime, config: SchedulerConfig, plans: Sequence[Plan]) -> Record:
    clock = VirtualClock()
    record = play(clock, step_time, config, plans)
    clock.run()
    return record


def play_live(step_time: StepTime, config: SchedulerConfig, plans: Sequence[Plan], seconds: float) -> Record:
    async def run() -> Record:
        record = play(LiveClock(asyncio.get_running_loop()), step_time, config, plans)
        await asyncio.sleep(seconds)
        return record

    return uvloop.run(run())


def play_manual(step_time: StepTime, config: SchedulerConfig, plans: Sequence[Plan]) -> Record:
    async def run() -> Record:
        clock = ManualClock(asyncio.get_running_loop())
        record = play(clock, step_time, config, plans)
        for _ in range(400):
            await asyncio.sleep(0)
            clock.advance(0.0075)
        return record

    return uvloop.run(run())


def test_linear_async_with_a_preemption_and_an_abort_is_the_same_under_every_clock() -> None:
    step_time = Linear(base=0.020, per_prefill_token=0.0001)
    virtual = play_virtual(step_time, CROWDED, PREEMPTION_AND_ABORT)
    assert any(event.startswith("preempted") for event in virtual.events)
    assert "finished b abort" in " ".join(virtual.events)
    assert play_live(step_time, CROWDED, PREEMPTION_AND_ABORT, virtual.times[-1] + 0.2).events == virtual.events
    assert play_manual(step_time, CROWDED, PREEMPTION_AND_ABORT).events == virtual.events


STEP = 0.040


def crowd(seed: int) -> tuple[SchedulerConfig, list[Plan]]:
    """A busy second: arrivals and leavings in the middle of steps, more tokens than there are blocks."""
    draw = random.Random(seed)
    policy: Literal["fcfs", "priority"] = "priority" if draw.random() < 0.5 else "fcfs"
    config = SchedulerConfig(
        num_gpu_blocks=draw.randint(14, 20),
        block_size=4,
        max_num_seqs=draw.randint(3, 5),
        max_num_batched_tokens=draw.choice([8, 16, 64]),
        policy=policy,
        async_scheduling=draw.random() < 0.7,
    )
    plans = [Plan(0.0, "first", prompt=6, max_tokens=26)]  # it runs all the time: steps keep their grid
    for number in range(draw.randint(6, 10)):
        at = (draw.randint(0, 20) + 0.5) * STEP + number * 1e-4
        request_id = f"r{number}"
        plans.append(Plan(at, request_id, draw.randint(1, 20), draw.randint(1, 14), priority=draw.randint(-1, 1)))
        if draw.random() < 0.3:
            plans.append(Plan(at + draw.randint(1, 6) * STEP, request_id, abort=True))
    return config, plans


@pytest.mark.parametrize("seed", range(40))
def test_random_crowds_are_the_same_by_hand_and_in_virtual_time(seed: int) -> None:
    config, plans = crowd(seed)
    virtual = play_virtual(Linear(base=STEP), config, plans)
    assert play_manual(Linear(base=STEP), config, plans).events == virtual.events


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_random_crowds_are_the_same_live(seed: int) -> None:
    config, plans = crowd(seed)
    virtual = play_virtual(Linear(base=STEP), config, plans)
    assert play_live(Linear(base=STEP), config, plans, virtual.times[-1] + 0.3).events == virtual.events


def test_the_crowds_are_crowded() -> None:
    """Together the scenarios hold what the comparison is about."""
    events = [event for seed in range(40) for event in play_virtual(Linear(base=STEP), *crowd(seed)).events]
    for word, count in {"preempted": 20, "abort": 20, "length": 100}.items():
        assert sum(word in event for event in events) >= count


def test_steps_that_follow_each_other_end_at_absolute_times() -> None:
    """Waking late does not add up: 30 steps of 10 ms take 300 ms, whatever the timers' grain."""
    plans = [Plan(0.0, "a", prompt=4, max_tokens=30)]
    live = play_live(Linear(base=0.010), SchedulerConfig(num_gpu_blocks=100), plans, 0.5)
    assert live.events[-1].startswith("step ")
    assert live.times[-1] - live.times[0] == pytest.approx(0.300, abs=0.006)


def test_fixed_tokens_come_at_absolute_deadlines() -> None:
    plans = [Plan(0.010, "a", prompt=4, max_tokens=5), Plan(0.035, "b", prompt=4, max_tokens=2)]
    config = SchedulerConfig(num_gpu_blocks=100)
    record = play_virtual(Fixed(Pacing(queue=0.02, ttft=0.1, itl=0.03)), config, plans)
    said = [(round(now, 6), event.split(";")[0]) for event, now in zip(record.events, record.times, strict=True)]
    assert [pair for pair in said if "+" in pair[1]] == [
        (0.110, "step a+1"),
        (0.135, "step b+1"),
        (0.140, "step a+1"),
        (0.165, "step b+1"),
        (0.170, "step a+1"),
        (0.200, "step a+1"),
        (0.230, "step a+1"),
    ]


def test_a_stopped_driver_delivers_nothing_more() -> None:
    clock, said = VirtualClock(), []
    engine = Engine(SchedulerConfig(num_gpu_blocks=100), Linear(base=0.010))
    driver = Driver(EngineCore(engine), clock, lambda outputs, now: said.extend([now] * len(outputs)))
    driver.add(Request("a", [1, 2, 3], 100, Words(), 0.0))
    clock.call_at(0.055, driver.stop)
    clock.run()
    assert said == pytest.approx([0.010, 0.020, 0.030, 0.040, 0.050])


def test_an_engine_whose_head_of_queue_never_fits_goes_to_sleep() -> None:
    clock = VirtualClock()
    record = Record()
    config = SchedulerConfig(num_gpu_blocks=4, block_size=4)
    engine = Engine(config, Linear(base=0.01), listeners=[record])
    driver = Driver(EngineCore(engine), clock, lambda outputs, now: None)
    huge = Request("huge", list(range(40)), 4, Words(), 0.0)
    driver.add(huge)
    driver.add(Request("small", [1, 2], 1, Words(), 0.0))
    clock.run(until=1.0)
    assert not any(event.startswith("scheduled") for event in record.events)
    driver.abort(huge)
    clock.run(until=2.0)
    assert "finished small length, 1 blocks" in record.events


@pytest.mark.parametrize("async_scheduling", [False, True])
@pytest.mark.parametrize("lockstep", [False, True])
def test_who_comes_while_an_empty_step_ends_is_served(async_scheduling: bool, lockstep: bool) -> None:
    """Behind the last token an empty batch is scheduled, which takes no time, but others are called in between."""
    clock, done = VirtualClock(), []
    config = SchedulerConfig(num_gpu_blocks=10, async_scheduling=async_scheduling)
    engine = Engine(config, Linear(base=0.25), lockstep=lockstep)
    driver = Driver(EngineCore(engine), clock, lambda outputs, now: done.extend(outputs))
    driver.add(Request("first", [1], 3, Words(), 0.0))
    late = Request("late", [1], 1, Words(), 0.75)
    clock.call_at(0.6, lambda: clock.call_at(0.75, lambda: driver.add(late)))
    clock.run()
    assert [output.request.request_id for output in done if output.finish_reason] == ["first", "late"]
    assert late.first_token_at == 1.0
