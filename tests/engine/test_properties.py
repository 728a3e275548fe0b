"""Random workloads, watched by an auditor who knows the queue rules and counts blocks by itself."""

from dataclasses import dataclass, field
from typing import Any

from hypothesis import event, given, settings
from hypothesis import strategies as st
from workloads import EOS, Words, request

from mockvllm.engine import (
    Engine,
    EngineCore,
    EngineListener,
    Fixed,
    Linear,
    Pacing,
    Request,
    RequestStatus,
    SchedulerConfig,
    SchedulerOutput,
    StepTime,
)

BLOCK_SIZE = 4
LONGEST = 40  # prompt and output together, so that a lone request always fits
TICKS = 3000
LINEAR = Linear(1.0)


class Auditor(EngineListener):
    """Keeps its own queue and running list, and fails where the engine breaks a rule."""

    def __init__(self, config: SchedulerConfig) -> None:
        self.config = config
        self.queue: list[Request] = []
        self.running: list[Request] = []
        self.preempted_in_call = False
        self.preemptions = 0
        self.engine: Engine

    def rank(self, r: Request) -> tuple[int, float, str]:
        return r.priority, r.arrival_time, r.request_id

    def queued(self, request: Request, now: float) -> None:
        self.queue.append(request)
        self.sort()

    def sort(self) -> None:
        if self.config.policy == "priority":
            self.queue.sort(key=self.rank)

    def scheduled(self, request: Request, num_hit_tokens: int, now: float) -> None:
        assert request is self.queue.pop(0), "only the head is admitted"
        assert not self.preempted_in_call, "a call that preempts admits nobody"
        assert num_hit_tokens < request.num_tokens
        assert num_hit_tokens % BLOCK_SIZE == 0
        self.running.append(request)
        assert len(self.running) <= self.config.max_num_seqs

    def preempted(self, request: Request, num_computed_tokens: int, num_blocks: int, now: float) -> None:
        if self.config.policy == "fcfs":
            assert request is self.running[-1], "the last admitted leaves"
        else:
            worst = max((r.priority, r.arrival_time) for r in self.running)
            assert (request.priority, request.arrival_time) == worst
        self.running.remove(request)
        self.queue.insert(0, request)
        self.sort()
        self.preempted_in_call = True
        self.preemptions += 1

    def finished(self, request: Request, num_blocks: int, now: float) -> None:
        (self.running if request in self.running else self.queue).remove(request)

    def batch(self, output: SchedulerOutput, now: float) -> None:
        self.preempted_in_call = False
        places = [self.running.index(r) for r in output.requests]
        assert len(places) == len(set(places)), "nobody twice"
        if not self.engine.paced:
            assert places == sorted(places), "in running order"
            assert all(n >= 1 for n in output.num_scheduled_tokens)
        assert sum(output.num_scheduled_tokens) == output.total_num_scheduled_tokens
        assert output.total_num_scheduled_tokens <= self.config.max_num_batched_tokens
        assert list(self.engine.scheduler.waiting) == self.queue
        assert list(self.engine.scheduler.running) == self.running
        self.count_blocks()

    def count_blocks(self) -> None:
        held = [block for r in self.running for block in r.block_ids]
        assert len(set(held)) + self.engine.num_free_blocks == self.config.num_gpu_blocks - 1
        assert 0 not in held
        for r in self.running:
            assert len(r.block_ids) == -(-r.num_computed_tokens // BLOCK_SIZE)
            assert len(set(r.block_ids)) == len(r.block_ids)
        assert all(not r.block_ids for r in self.queue)
        if len(set(held)) < len(held):
            event("blocks are shared")
            self.sharers_agree()

    def sharers_agree(self) -> None:
        """Only a full block is shared, among requests that are alike up to its end."""
        first: dict[int, tuple[Request, int]] = {}
        for r in self.running:
            for index, block in enumerate(r.block_ids):
                other, place = first.setdefault(block, (r, index))
                if other is not r:
                    end = (index + 1) * BLOCK_SIZE
                    assert place == index
                    assert other.num_tokens >= end
                    assert r.token_ids(0, end) == other.token_ids(0, end)
                    assert r.cache_salt == other.cache_salt


@dataclass
class Plan:
    """One request, and what happens to it."""

    at: int
    family: int  # requests of one family begin alike
    prompt: int
    max_tokens: int
    eos_at: int | None
    priority: int
    abort_after: int | None
    salted: bool

    def request(self, index: int) -> Request:
        prompt = [self.family * 100 + i for i in range(self.prompt // 2)]
        prompt += [10_000 + index * 100 + i for i in range(self.prompt - len(prompt))]
        outputs = Words({} if self.eos_at is None else {self.eos_at - 1: EOS})
        return request(
            str(index),
            prompt_token_ids=prompt,
            max_tokens=self.max_tokens,
            at=self.at - index / 1000,  # no two of the same rank: those may evict each other for good
            outputs=outputs,
            eos_token_id=EOS,
            priority=self.priority,
            cache_salt="salt" if self.salted else None,
        )

    @property
    def says(self) -> int:
        return min(self.max_tokens, self.eos_at or LONGEST)


@dataclass
class Outcome:
    """Everything that a run can be compared by."""

    trace: list[tuple[Any, ...]] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    preemptions: int = 0


def run(config: SchedulerConfig, plans: list[Plan], step_time: StepTime = LINEAR) -> Outcome:
    auditor = Auditor(config)
    engine = auditor.engine = Engine(config, step_time, listeners=[auditor])
    core, outcome = EngineCore(engine), Outcome()
    outcome.requests = [plan.request(index) for index, plan in enumerate(plans)]
    for tick in range(TICKS):
        for plan, r in zip(plans, outcome.requests, strict=True):
            if plan.abort_after is not None and tick == plan.at + plan.abort_after:
                engine.abort(r, tick)
            if plan.at == tick:
                engine.add(r, tick)
        while core.has_work and core.begin(tick) is not None:
            said = [(x.request.request_id, x.num_new_tokens, x.finish_reason) for x in core.complete(tick)]
            outcome.trace.append((tick, said, engine.num_free_blocks))
            if not engine.paced:
                break
        if all(r.status is RequestStatus.FINISHED for r in outcome.requests):
            break
    outcome.preemptions = auditor.preemptions
    assert engine.num_free_blocks == config.num_gpu_blocks - 1, "a block leaked"
    assert (engine.num_running, engine.num_waiting) == (0, 0)
    return outcome


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    prompt = draw(st.integers(1, LONGEST - 1))
    max_tokens = draw(st.integers(1, LONGEST - prompt))
    return Plan(
        at=draw(st.integers(0, 12)),
        family=draw(st.integers(1, 2)),
        prompt=prompt,
        max_tokens=max_tokens,
        eos_at=draw(st.none() | st.integers(1, LONGEST)),
        priority=draw(st.integers(0, 2)),
        abort_after=draw(st.none() | st.none() | st.integers(1, 30)),
        salted=draw(st.booleans()),
    )


configs = st.builds(
    SchedulerConfig,
    block_size=st.just(BLOCK_SIZE),
    num_gpu_blocks=st.integers(LONGEST // BLOCK_SIZE + 1, 18),
    max_num_seqs=st.integers(1, 6),
    max_num_batched_tokens=st.integers(3, 80),
    max_model_len=st.just(100),
    policy=st.sampled_from(["fcfs", "priority"]),
    enable_prefix_caching=st.booleans(),
    async_scheduling=st.booleans(),
    watermark=st.sampled_from([0.0, 0.1]),
    long_prefill_token_threshold=st.sampled_from([0, 0, 5]),
)
workloads = st.lists(plans(), min_size=3, max_size=9)


@given(configs, workloads, st.sampled_from([LINEAR, LINEAR, Fixed(Pacing(ttft=2.5, itl=0.7)), Fixed(Pacing(itl=3.0))]))
@settings(max_examples=300, deadline=None)
def test_no_block_leaks_no_queue_rule_is_broken_and_everybody_is_served(
    config: SchedulerConfig, plans: list[Plan], step_time: StepTime
) -> None:
    outcome = run(config, plans, step_time)
    event("preemptions" if outcome.preemptions else "none preempted")
    for plan, r in zip(plans, outcome.requests, strict=True):
        assert r.status is RequestStatus.FINISHED
        if r.finish_reason != "abort":
            assert (r.num_output_tokens, r.finish_reason) == (
                plan.says,
                "stop" if plan.eos_at == plan.says else "length",
            )


@given(configs, workloads)
@settings(max_examples=30, deadline=None)
def test_the_same_workload_gives_the_same_run(config: SchedulerConfig, plans: list[Plan]) -> None:
    assert run(config, plans).trace == run(config, plans).trace


@given(configs, workloads)
@settings(max_examples=30, deadline=None)
def test_caching_and_scheduling_mode_change_when_not_what(config: SchedulerConfig, plans: list[Plan]) -> None:
    """Who is not aborted says the same number of tokens, whatever the mode."""
    plain = [Plan(**(vars(plan) | {"abort_after": None})) for plan in plans]
    variants = [
        SchedulerConfig(**(_fields(config) | {"async_scheduling": a, "enable_prefix_caching": c}))
        for a in (False, True)
        for c in (False, True)
    ]
    said = [[r.num_output_tokens for r in run(variant, plain).requests] for variant in variants]
    assert all(tokens == said[0] for tokens in said)


def _fields(config: SchedulerConfig) -> dict[str, Any]:
    return {name: getattr(config, name) for name in config.__struct_fields__}
