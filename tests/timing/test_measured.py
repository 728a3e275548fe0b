"""`table` and `trace`: at the measured points what was measured, in between no surprise, and clear errors."""

import json
import random

import pytest
from batches import batch
from hypothesis import given
from hypothesis import strategies as st

from mockvllm.engine import Linear
from mockvllm.engine.measured import Point, StepFigures, Table, Trace, read_points, step_figures
from mockvllm.engine.nearest import Nearest

GRID = [StepFigures(p, d, k) for p in (0, 100, 2000) for d in (0, 8, 64) for k in (0, 50_000)]
LINEAR = Linear(0.01, 2e-5, 1e-4, 1e-8)


def seconds_of(figures: StepFigures) -> float:
    return 0.01 + 2e-5 * figures.prefill_tokens + 1e-4 * figures.decode_seqs + 1e-8 * figures.kv_tokens


def grid() -> list[Point]:
    return [Point(figures, seconds_of(figures)) for figures in GRID]


SEQUENCES = st.lists(st.integers(1, 500).flatmap(lambda n: st.tuples(st.just(n), st.integers(n, n + 3000))), min_size=1)


@given(SEQUENCES)
def test_a_step_is_counted_as_linear_counts_it(sequences: list[tuple[int, int]]) -> None:
    output = batch(sequences)
    assert seconds_of(step_figures(output)) == pytest.approx(LINEAR.seconds(output))


@given(st.floats(0, 9000), st.floats(0, 300), st.floats(0, 1e6))
def test_a_table_of_linear_steps_is_linear_within_and_beyond_its_grid(p: float, d: float, k: float) -> None:
    figures = StepFigures(p, d, k)
    assert Table(grid()).at(figures) == pytest.approx(seconds_of(figures), rel=1e-6)


@given(SEQUENCES)
def test_a_table_times_the_engines_batches(sequences: list[tuple[int, int]]) -> None:
    output = batch(sequences)
    assert Table(grid()).seconds(output) == pytest.approx(LINEAR.seconds(output), rel=1e-6)


def test_between_two_points_a_table_is_between_them() -> None:
    rough = Table([Point(StepFigures(0, d, 0), s) for d, s in ((1, 0.02), (10, 0.05), (20, 0.04))])
    assert [rough.at(StepFigures(0, d, 0)) for d in (1, 5.5, 10, 15, 20)] == pytest.approx(
        [0.02, 0.035, 0.05, 0.045, 0.04]
    )
    assert rough.at(StepFigures(0, 30, 0)) == pytest.approx(0.03)
    assert rough.at(StepFigures(0, 90, 0)) == 0.0  # the falling edge, prolonged, is never negative
    assert rough.at(StepFigures(500, 10, 700)) == pytest.approx(0.05)  # what the table does not vary in


def test_measurements_of_the_same_point_are_averaged() -> None:
    points = [Point(StepFigures(0, 1, 0), 0.02), Point(StepFigures(0, 1, 0), 0.04)]
    assert Table(points).at(StepFigures(0, 1, 0)) == Trace(points).at(StepFigures(0, 1, 0)) == pytest.approx(0.03)


def test_a_table_with_a_hole_names_it() -> None:
    with pytest.raises(
        ValueError, match="full grid of points: there is none with prefill_tokens 100, decode_seqs 8, kv_"
    ):
        Table([point for point in grid() if point.figures[:2] != (100, 8)])


def test_a_trace_says_what_was_measured_where_it_was_measured() -> None:
    trace = Trace(grid())
    assert [trace.at(point.figures) for point in grid()] == pytest.approx([point.seconds for point in grid()])


@given(st.floats(0, 9000), st.floats(0, 300), st.floats(0, 1e6))
def test_a_trace_stays_within_what_was_measured(p: float, d: float, k: float) -> None:
    seconds = [point.seconds for point in grid()]
    assert min(seconds) <= Trace(grid()).at(StepFigures(p, d, k)) <= max(seconds) + 1e-12


def test_a_dense_trace_is_near_the_truth() -> None:
    draw = random.Random(3)
    steps = [StepFigures(0, draw.randint(1, 64), draw.randint(0, 50_000)) for _ in range(3000)]
    trace = Trace([Point(step, seconds_of(step)) for step in steps])
    for d, k in ((7, 9_000), (30, 25_000), (60, 44_000)):
        assert trace.at(StepFigures(0, d, k)) == pytest.approx(seconds_of(StepFigures(0, d, k)), rel=0.02)


POSITIONS = st.tuples(*[st.floats(0, 1)] * 3)


@given(st.lists(POSITIONS, min_size=1, max_size=60, unique=True), POSITIONS, st.integers(1, 9))
def test_the_tree_finds_what_a_look_at_every_point_finds(
    positions: list[tuple[float, ...]], wanted: tuple[float, ...], count: int
) -> None:
    items = [(position, float(number)) for number, position in enumerate(positions)]
    every = sorted(sum((a - b) ** 2 for a, b in zip(position, wanted, strict=True)) for position, _ in items)
    assert [distance for distance, _ in Nearest(items, count).find(wanted)] == every[:count]


def test_csv_and_json_say_the_same() -> None:
    rows = [{"decode_seqs": 1, "seconds": 0.02}, {"decode_seqs": 8, "seconds": 0.03}]
    csv = "seconds,decode_seqs\n0.02,1\n0.03,8\n"
    assert read_points(csv, "t.csv") == read_points(json.dumps(rows), "t.json")
    assert read_points(csv, "t.csv")[1] == Point(StepFigures(0, 8, 0), 0.03)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "t: holds no points"),
        ("[1]", "t: must be a JSON list of objects"),
        ("[{", "t: is no JSON"),
        ("decode_seqs,seconds\n1,0.1\n2,fast\n", "t: point 2: seconds must be a number, not negative, but is 'fast'"),
        ("decode_seqs,seconds\n1\n", "t: point 1: seconds must be a number, not negative, but is None"),
        ('[{"decode_seqs": 1}]', "t: point 1: seconds must be"),
        ('[{"decode_seqs": -1, "seconds": 1}]', "t: point 1: decode_seqs must be a number, not negative, but is -1"),
        ('[{"kv_tokens": NaN, "seconds": 1}]', "t: point 1: kv_tokens must be"),
        (
            "tokens,seconds\n1,1\n",
            r"t: point 1: unknown field tokens \(known: prefill_tokens, decode_seqs, kv_tokens, sec",
        ),
    ],
)
def test_a_file_that_cannot_be_read_names_point_and_field(text: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=f"^{complaint}"):
        read_points(text, "t")


def test_an_empty_batch_takes_no_time() -> None:
    assert Table(grid()).seconds(batch([])) == Trace(grid()).seconds(batch([])) == 0.0
