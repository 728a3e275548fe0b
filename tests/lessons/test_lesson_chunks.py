"""Chunked prefill."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lesson import run, show

from mockvllm.clock import VirtualClock
from mockvllm.clock.driver import Driver
from mockvllm.engine import Engine, EngineCore, Linear, Request, RequestOutput, SchedulerConfig
from mockvllm.simulation.chunks import chunks
from mockvllm.simulation.tokens import ANY_ANSWER


def test_the_lessons_own_case() -> None:
    rows = show("chunks")
    assert [(row["budget"], row["prefill_steps"]) for row in rows] == [(8192, 1), (2048, 4), (512, 14)]
    assert [round(row["ttft_ms"]) for row in rows] == [495, 630, 1080]
    assert [round(row["worst_gap_ms"]) for row in rows] == [495, 193, 78]


def test_other_inputs_by_flag() -> None:
    (row,) = show(
        *("chunks", "--budgets", 100, "--prompt", 250, "--running", 20, "--base-ms", 10, "--per-token-ms", 0.5)
    )
    assert row == {"budget": 100, "prefill_steps": 4, "ttft_ms": 4 * 10 + 125, "worst_gap_ms": 10 + 40}


def test_the_table_is_readable() -> None:
    lines = [" ".join(line.split()) for line in run("chunks").out.splitlines()]
    assert "512 14 1,080 ms 78 ms" in lines
    assert "Without the prompt a step takes 45 ms." in lines


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--budgets", "72"], "a budget of 72 tokens leaves a prompt nothing beside 72 running requests"),
        (["--budgets", "512,x"], "'--budgets': must be a number, not x (in 512,x)"),
        (["--base-ms", "-1"], "must not be negative, but is -1"),
    ],
)
def test_what_cannot_be_is_one_line_and_exit_2(flags: list[str], message: str) -> None:
    done = run("chunks", *flags)
    assert (done.status, done.out, done.err.count("\n")) == (2, "", 1)
    assert message in done.err


@given(st.integers(1, 300), st.integers(0, 300), st.integers(1, 9000), st.floats(0, 100), st.floats(0, 1))
def test_step_by_step(room: int, running: int, prompt: int, base_ms: float, per_token_ms: float) -> None:
    row = chunks(room + running, prompt, running, base_ms, per_token_ms)
    steps, left = [], prompt
    while left:
        chunk = min(left, room)
        steps.append(base_ms + per_token_ms * chunk)
        left -= chunk
    assert row.prefill_steps == len(steps)
    assert row.ttft_ms == pytest.approx(math.fsum(steps))
    assert row.worst_gap_ms == pytest.approx(max(steps))


@pytest.mark.parametrize(("budget", "prompt", "running"), [(2048, 6000, 72), (512, 6000, 72), (100, 333, 40)])
def test_the_engine_takes_as_long(budget: int, prompt: int, running: int) -> None:
    row = chunks(budget, prompt, running, base_ms=45, per_token_ms=0.075)
    said: dict[str, list[float]] = {}

    def deliver(results: list[RequestOutput], now: float) -> None:
        for result in results:
            said.setdefault(result.request.request_id, []).append(now)

    config = SchedulerConfig(
        num_gpu_blocks=2000, max_num_seqs=running + 1, max_num_batched_tokens=budget, async_scheduling=False
    )
    clock = VirtualClock()
    driver = Driver(EngineCore(Engine(config, Linear(0.045, 0.000075))), clock, deliver)
    for number in range(running):
        driver.add(Request(f"r{number}", range(1), 60, ANY_ANSWER, 0.0))
    arrives = 20 * 0.045  # just when a step ends
    clock.call_at(arrives, lambda: driver.add(Request("long", range(prompt), 1, ANY_ANSWER, arrives)))
    clock.run()
    assert 1000 * (said["long"][0] - arrives) == pytest.approx(row.ttft_ms)
    gaps = [after - before for before, after in zip(said["r0"], said["r0"][1:], strict=False)]
    assert 1000 * max(gaps) == pytest.approx(row.worst_gap_ms)
