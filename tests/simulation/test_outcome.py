"""Figures of a run against those of a listener that writes every token down."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mockvllm_client.measure import Record, summarize
from simulated import reference

from mockvllm.clock import VirtualClock
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
from mockvllm.simulation.arrivals import Arrivals
from mockvllm.simulation.client import Client
from mockvllm.simulation.random_dataset import RandomDataset
from mockvllm.simulation.result import result
from mockvllm.simulation.run import run_workload
from mockvllm.simulation.workload import Workload

METRICS = ("ttft", "tpot", "itl", "e2el", "client_queue_time")
PERCENTILES = (50, 95, 99.9)
SLO = {"ttft": 700.0, "tpot": 60.0}


class Diary(EngineListener):
    """Every token and every loss of a seat, one by one."""

    def __init__(self, num_requests: int) -> None:
        self.tokens: list[list[float]] = [[] for _ in range(num_requests)]
        self.queue: list[float] = [0.0] * num_requests
        self.lost: list[list[int]] = [[] for _ in range(num_requests)]

    def scheduled(self, request: Request, num_hit_tokens: int, now: float) -> None:
        if not request.num_preemptions:
            self.queue[request.owner] = now - (request.queued_at or 0.0)

    def preempted(self, request: Request, num_computed_tokens: int, num_blocks: int, now: float) -> None:
        self.lost[request.owner].append(num_computed_tokens)

    def step(self, results: Sequence[RequestOutput], stats: SchedulerStats, now: float) -> None:
        for said in results:
            if said.num_new_tokens:
                self.tokens[said.request.owner].append(now)


def keep_diary(
    workload: Workload, config: SchedulerConfig, step_time: StepTime, max_concurrency: int | None
) -> tuple[Diary, list[Record]]:
    diary, clock = Diary(len(workload)), VirtualClock()
    client = Client(workload, clock, max_concurrency, with_tokens=True)
    engine = Engine(config, step_time, listeners=[diary])
    client.start(Driver(EngineCore(engine), clock, client.deliver))
    clock.run()
    return diary, [
        Record(
            start=sent,
            ttft=tokens[0] - sent,
            latency=tokens[-1] - sent,
            output_tokens=output,
            itl=[after - before for before, after in pairwise(tokens)],
            prompt_tokens=prompt,
            arrival=arrival,
        )
        for sent, tokens, output, prompt, arrival in zip(
            client.sent_at,
            diary.tokens,
            workload.output_lens,
            workload.prompt_lens,
            workload.arrivals,
            strict=True,
        )
    ]


datasets = st.builds(
    RandomDataset,
    num_prompts=st.integers(1, 25),
    input_len=st.integers(1, 60),
    output_len=st.integers(1, 40),
    range_ratio=st.sampled_from([0.0, 0.5]),
    prefix_len=st.sampled_from([0, 16]),
    priority_mix=st.sampled_from([{0: 1.0}, {0: 1.0, 7: 2.0}]),
    arrivals=st.builds(Arrivals, st.sampled_from([float("inf"), 2.0, 30.0]), st.sampled_from([0.5, 1.0, float("inf")])),
    seed=st.integers(0, 5),
)
configs = st.builds(
    reference,
    num_gpu_blocks=st.integers(16, 60),
    max_num_seqs=st.integers(1, 12),
    max_num_batched_tokens=st.sampled_from([16, 64, 8192]),
    max_model_len=st.just(200),
    enable_prefix_caching=st.booleans(),
    async_scheduling=st.booleans(),
    policy=st.sampled_from(["fcfs", "priority"]),
)
step_times = st.sampled_from(
    [Linear(0.04), Linear(0.03, 0.0005, 0.001, 0.00001), Fixed(Pacing(0.1, 0.3, 0.04)), Fixed(Pacing(0.0, 0.05, 0.013))]
)


def told_of(diary: Diary) -> dict[str, Any]:
    return {
        "preemptions": sum(map(len, diary.lost)),
        "preempted_requests": sum(1 for lost in diary.lost if lost),
        "recomputed_tokens": sum(map(sum, diary.lost)),
    }


@settings(max_examples=150, deadline=None)
@given(datasets, configs, step_times, st.none() | st.integers(1, 10))
def test_the_result_is_that_of_counting_every_token(
    dataset: RandomDataset, config: SchedulerConfig, step_time: StepTime, max_concurrency: int | None
) -> None:
    workload = dataset.workload()
    outcome = run_workload(workload, config, step_time, max_concurrency=max_concurrency, keep_runs=True)
    got = result(outcome, METRICS, PERCENTILES, SLO, detailed=True)
    diary, records = keep_diary(workload, config, step_time, max_concurrency)
    duration = max(record.start + record.latency for record in records)
    summary = summarize(records, duration, metrics=METRICS, percentiles=PERCENTILES, slo_ms=SLO).as_bench()
    assert {key: got[key] for key in summary} == pytest.approx(summary, abs=1e-6)
    assert got["itls"] == [pytest.approx(record.itl) for record in records]
    assert got["ttfts"] == pytest.approx([record.ttft for record in records])
    assert got["output_lens"] == [len(tokens) for tokens in diary.tokens]
    assert got["mean_queue_ms"] == pytest.approx(1000 * sum(diary.queue) / len(records))
    assert {key: got[key] for key in told_of(diary)} == told_of(diary)
    classes = got["by_priority"].values()
    assert sum(row["completed"] for row in classes) == len(records)
    assert sum(row["recomputed_tokens"] for row in classes) == got["recomputed_tokens"]


@settings(max_examples=60, deadline=None)
@given(datasets, configs, step_times, st.none() | st.integers(1, 10))
def test_taking_steps_together_changes_nothing(
    dataset: RandomDataset, config: SchedulerConfig, step_time: StepTime, max_concurrency: int | None
) -> None:
    together, apart = (
        result(
            run_workload(
                dataset.workload(),
                config,
                step_time,
                max_concurrency=max_concurrency,
                keep_runs=True,
                step_by_step=step_by_step,
            ),
            METRICS,
            PERCENTILES,
            detailed=True,
        )
        for step_by_step in (False, True)
    )
    assert together == apart


def test_a_run_without_time_has_no_rates() -> None:
    outcome = run_workload(RandomDataset(num_prompts=3).workload(), reference(), Linear(0.0))
    with pytest.raises(ValueError, match="the run took no time"):
        result(outcome, METRICS, PERCENTILES)


def test_at_most_so_many_are_in_flight_and_the_others_wait_at_the_client() -> None:
    dataset = RandomDataset(num_prompts=6, input_len=10, output_len=5, arrivals=Arrivals(1000.0, float("inf")))
    outcome = run_workload(
        dataset.workload(), reference(async_scheduling=False), Linear(0.1), max_concurrency=2, keep_runs=True
    )
    got = result(outcome, ("client_queue_time", "e2el_including_client_queue"), (100,), detailed=True)
    # the first waits for nobody; the second arrives in its first step; each pair follows the one before
    assert got["start_times"] == pytest.approx([0.001, 0.002, 0.501, 0.601, 1.001, 1.101])
    assert got["queue_times"] == pytest.approx([0.0, 0.0, 0.498, 0.597, 0.996, 1.095])
    assert got["p100_e2el_including_client_queue_ms"] == pytest.approx(1000 * (1.601 - 0.006))


def test_means_are_over_time() -> None:
    """Two requests run; when the shorter one is done, the other goes on alone."""
    config = reference(async_scheduling=False)
    dataset = RandomDataset(num_prompts=2, input_len=8, output_len=3, range_ratio=0.5, seed=3)
    lengths = sorted(dataset.workload().output_lens)
    assert lengths[0] < lengths[1]
    outcome = run_workload(dataset.workload(), config, Linear(1.0))
    got = result(outcome, ("ttft",), (50,))
    assert got["duration"] == lengths[1]
    assert got["peak_running"] == 2
    running = 2 * (lengths[0] - 1) + (lengths[1] - lengths[0])
    assert got["mean_running"] == pytest.approx(running / lengths[1])
    assert got["series"]["running"][: got["steps"]] == [2] * (lengths[0] - 1) + [1] * (lengths[1] - lengths[0]) + [0]
