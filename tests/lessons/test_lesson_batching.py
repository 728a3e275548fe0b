"""Static and continuous batching."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lesson import run, show

from mockvllm.engine import Engine, EngineCore, Linear, Request, SchedulerConfig
from mockvllm.simulation.batching import IDLE, Seating, continuous_batching, static_batching
from mockvllm.simulation.tokens import ANY_ANSWER

CASE = {"A": 3, "B": 8, "C": 2, "D": 5, "E": 4, "F": 3}


def test_the_lessons_own_case() -> None:
    shown = show("batching")
    static, continuous = shown["static"], shown["continuous"]
    assert (static["steps"], static["used"], static["seat_steps"]) == (12, 25, 48)
    assert (continuous["steps"], continuous["used"], continuous["seat_steps"]) == (8, 25, 32)
    assert round(static["share"], 2) == 0.52
    assert round(continuous["share"], 2) == 0.78
    assert static["first_token"] == {"A": 1, "B": 1, "C": 1, "D": 1, "E": 9, "F": 9}
    assert continuous["first_token"] == {"A": 1, "B": 1, "C": 1, "D": 1, "E": 3, "F": 4}
    assert " ".join(static["grid"][0]) == "A1 A2 A3 · · · · · E1 E2 E3 E4"
    assert " ".join(continuous["grid"][0]) == "A1 A2 A3 F1 F2 F3 · ·"
    assert " ".join(continuous["grid"][2]) == "C1 C2 E1 E2 E3 E4 · ·"


def test_other_inputs_by_flag() -> None:
    shown = show("batching", "--outputs", "long=5, short=1,last=2", "--seats", 2)
    assert shown["static"]["grid"] == [
        ["long1", "long2", "long3", "long4", "long5", "last1", "last2"],
        ["short1", *[IDLE] * 6],
    ]
    assert shown["continuous"]["grid"][1] == ["short1", "last1", "last2", IDLE, IDLE]


def test_the_grids_are_readable() -> None:
    shown = run("batching").out
    assert "8 steps, 25 of 32 seat-steps used (78%); first tokens: A=1 B=1 C=1 D=1 E=3 F=4" in shown
    assert "seat 3 C1 C2 E1 E2 E3 E4 · ·" in [" ".join(line.split()) for line in shown.splitlines()]


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--outputs", "A=3,A=4"], "each NAME=N once, not 'A=4'"),
        (["--outputs", "A=0"], "'--outputs': must be a positive whole number, not 0 (in 0)"),
        (["--outputs", "A"], "must be a number"),
        (["--outputs", "A=1e30"], "a grid of more than 1,000,000 cells (tokens x seats) cannot be drawn"),
        (["--seats", "1e9"], "cannot be drawn"),
        (["--seats", "0"], "must be a positive whole number, not 0"),
    ],
)
def test_what_cannot_be_is_one_line_and_exit_2(flags: list[str], message: str) -> None:
    done = run("batching", *flags)
    assert (done.status, done.out, done.err.count("\n")) == (2, "", 1)
    assert message in done.err


requests = st.dictionaries(st.text("abcdefgh", min_size=1, max_size=3), st.integers(1, 9), min_size=1, max_size=12)


def check_grid(seating: Seating, outputs: dict[str, int], seats: int) -> None:
    """Every token once, in order, in one seat and in steps that follow each other."""
    assert len(seating.grid) == seats
    assert seating.used == sum(outputs.values())
    for name, length in outputs.items():
        tokens = [f"{name}{number}" for number in range(1, length + 1)]
        rows = [row for row in seating.grid if tokens[0] in row]
        begin = seating.first_token[name] - 1
        assert [list(row[begin : begin + length]) for row in rows] == [tokens]


@given(requests, st.integers(1, 5))
def test_static_batches_are_as_long_as_their_longest_answer(outputs: dict[str, int], seats: int) -> None:
    seating = static_batching(outputs, seats)
    check_grid(seating, outputs, seats)
    lengths = list(outputs.values())
    batches = [max(lengths[i : i + seats]) for i in range(0, len(lengths), seats)]
    assert seating.steps == sum(batches)
    for number, name in enumerate(outputs):
        assert seating.first_token[name] == 1 + sum(batches[: number // seats])


@given(requests, st.integers(1, 5))
def test_continuous_batching_is_what_the_engine_does(outputs: dict[str, int], seats: int) -> None:
    seating = continuous_batching(outputs, seats)
    check_grid(seating, outputs, seats)
    config = SchedulerConfig(num_gpu_blocks=100, max_num_seqs=seats, async_scheduling=False)
    core = EngineCore(Engine(config, Linear(1.0)))
    for name, length in outputs.items():
        core.engine.add(Request(name, range(4), length, ANY_ANSWER, 0.0), 0.0)
    first: dict[str, int] = {}
    step = 0
    while core.engine.num_running or core.engine.num_waiting:
        step += 1
        assert core.begin(step) is not None
        for said in core.complete(step):
            first.setdefault(said.request.request_id, step)
    assert seating.first_token == first
    assert seating.steps == step
