"""`mockvllm fit`: from results that were simulated with known constants it finds these again."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from load import Load

from mockvllm.cli import main as cli
from mockvllm.engine import Linear
from mockvllm.engine.measured import Point, StepFigures
from mockvllm.fitting.detailed import timelines
from mockvllm.fitting.least_squares import least_squares, least_squares_not_negative
from mockvllm.fitting.linear import fit_linear
from mockvllm.fitting.steps import measured_steps
from mockvllm.planning.errors import InputError
from mockvllm.planning.results import Result

KNOWN = Linear(base=0.012, per_prefill_token=4e-5, per_decode_seq=1.1e-4, per_kv_token=3e-8)
KEYS = ("linear_base_ms", "linear_prefill_ms_per_token", "linear_decode_ms_per_seq", "linear_kv_ms_per_token")


def requests_of(seed: int, count: int, longest: int) -> list[tuple[int, int]]:
    draw = random.Random(seed)
    return [(draw.randint(1, longest), draw.randint(1, 60)) for _ in range(count)]


def sweep(linear: Linear, longest: int = 1500, **config: Any) -> list[dict[str, Any]]:
    """Three results: two closed loops, one open."""
    return [
        Load(linear, requests_of(1, 40, longest), concurrency=4, config=config).run(),
        Load(linear, requests_of(2, 120, longest), concurrency=32, config=config).run(),
        Load(linear, requests_of(3, 60, longest), interval=0.1, config=config).run(),
    ]


def run_fit(tmp_path: Path, results: list[dict[str, Any]], capsys: pytest.CaptureFixture[str], *flags: str) -> Any:
    files = []
    for number, result in enumerate(results):
        path = tmp_path / f"result-{number}.json"
        path.write_text(json.dumps(result))
        files.append(str(path))
    with pytest.raises(SystemExit) as exited:
        cli.main(["fit", *files, "--json", *flags])
    assert not exited.value.code
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("async_scheduling", [True, False], ids=["async", "sync"])
@pytest.mark.parametrize("budget", [8192, 700], ids=["whole-prompts", "chunks"])
@pytest.mark.parametrize(
    "linear",
    [KNOWN, Linear(0.045, 7.5e-5), Linear(0.02, 1e-5, 3e-4, 2e-7), Linear(0.005, 2e-5, 0.0, 1e-7)],
    ids=["all", "lesson", "dear-kv", "no-sequences"],
)
def test_known_constants_are_found_again(
    linear: Linear, budget: int, async_scheduling: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    results = sweep(linear, max_num_batched_tokens=budget, async_scheduling=async_scheduling)
    found = run_fit(tmp_path, results, capsys, "--max-num-batched-tokens", str(budget))
    known = [linear.base, linear.per_prefill_token, linear.per_decode_seq, linear.per_kv_token]
    for key, value in zip(KEYS, known, strict=True):
        assert found[key] == pytest.approx(1000 * value, rel=0.02, abs=1e-9), key
    assert found["undetermined"] == []
    assert found["median_error"] < 1e-6


@settings(deadline=None, max_examples=15)
@given(
    st.builds(
        Linear,
        st.floats(1e-3, 0.1),
        st.floats(1e-6, 1e-3),
        st.floats(1e-6, 1e-3),
        st.floats(1e-9, 1e-6),
    ),
    st.integers(0, 9),
)
@example(KNOWN, 0)
def test_any_constants_are_found_again(linear: Linear, seed: int) -> None:
    points = []
    for concurrency in (2, 12):
        result = Load(linear, requests_of(seed, 4 * concurrency, 1500), concurrency=concurrency).run()
        points += measured_steps(timelines(Result(result, "result")), 8192)
    found = fit_linear(points).linear
    assert found.base == pytest.approx(linear.base, rel=0.02)
    assert found.per_prefill_token == pytest.approx(linear.per_prefill_token, rel=0.02)
    assert found.per_decode_seq == pytest.approx(linear.per_decode_seq, rel=0.02, abs=linear.base / 1e4)
    assert found.per_kv_token == pytest.approx(linear.per_kv_token, rel=0.02, abs=linear.base / 1e6)


def test_jitter_of_the_client_and_held_up_steps_do_no_harm() -> None:
    """Tokens of one step read at slightly different times, and one step in fifty held up by something else."""
    draw = random.Random(5)
    points = []
    for result in sweep(KNOWN):
        for number, gaps in enumerate(result["itls"]):
            late = [0.0, *(draw.uniform(0, 0.0004) for _ in gaps)]
            result["itls"][number] = [gap + late[i + 1] - late[i] for i, gap in enumerate(gaps)]
        points += measured_steps(timelines(Result(result, "result")), 8192)
    points = [p._replace(seconds=p.seconds + 0.2) if draw.random() < 0.02 else p for p in points]
    found = fit_linear(points)
    assert found.num_outliers > len(points) / 100
    assert found.linear.base == pytest.approx(KNOWN.base, rel=0.02)
    assert found.linear.per_prefill_token == pytest.approx(KNOWN.per_prefill_token, rel=0.05)
    assert found.linear.per_decode_seq == pytest.approx(KNOWN.per_decode_seq, rel=0.05)


def test_two_tokens_that_were_read_at_once_are_no_step(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lone = Load(Linear(0.03), [(64, 20)] * 3, concurrency=1).run()
    lone["itls"][1][7:9] = [0.06, 0.0]
    found = run_fit(tmp_path, [lone], capsys)
    assert found["steps"] == 3 * 19 - 1
    assert found["linear_base_ms"] == pytest.approx(30, rel=1e-6)


def test_what_the_results_do_not_vary_in_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lone = Load(Linear(0.03), [(64, 20)] * 3, concurrency=1).run()
    found = run_fit(tmp_path, [lone], capsys)
    assert found["linear_base_ms"] == pytest.approx(30, rel=1e-6)
    assert found["undetermined"] == ["--linear-prefill-ms-per-token", "--linear-decode-ms-per-seq"]


def test_a_person_reads_flags_to_paste(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "result.json"
    path.write_text(json.dumps(Load(Linear(0.03), [(64, 20)] * 3, concurrency=1).run()))
    with pytest.raises(SystemExit):
        cli.main(["fit", str(path)])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("--step-time linear --linear-base-ms 30 --linear-prefill-ms-per-token 0 ")
    assert lines[2].startswith("undetermined, so 0: --linear-prefill-ms-per-token, --linear-decode-ms-per-seq")


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"itls": None}, "has no itls: run vllm bench serve with --save-result --save-detailed"),
        ({"ttfts": [0.1]}, "differ in length: 2, 1, 2, 2, 2"),
        ({"ttfts": [0.1, "x"]}, "request 1: its times and lengths must be numbers"),
        ({"output_lens": [0, 0]}, "holds no request that was answered"),
    ],
)
def test_a_result_that_cannot_be_read_is_named(change: dict[str, Any], complaint: str) -> None:
    whole = {"input_lens": [5, 6], "output_lens": [2, 2], "ttfts": [0.1, 0.1], "itls": [[0.1], [0.1]]}
    result = Result(whole | {"start_times": [0.0, 1.0]} | change, "run-7.json")
    with pytest.raises(InputError, match=f"^run-7.json: .*{complaint}"):
        timelines(result)


def test_failed_requests_are_left_out() -> None:
    arrays = {"input_lens": [5, 6], "output_lens": [2, 0], "ttfts": [0.1, 0.0], "itls": [[0.1], []]}
    assert len(timelines(Result(arrays | {"start_times": [0.0, 1.0]}, "r"))) == 1


@pytest.mark.parametrize("argv", [["fit"], ["fit", "no-such-file.json"], ["fit", "x", "--max-num-batched-tokens", "0"]])
def test_wrong_usage_exits_2_with_one_line(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exited:
        cli.main(argv)
    assert exited.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_results_without_two_decoding_steps_say_what_is_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "short.json"
    path.write_text(json.dumps(Load(KNOWN, [(9, 1)] * 4, concurrency=2).run()))
    with pytest.raises(SystemExit) as exited:
        cli.main(["fit", str(path)])
    assert exited.value.code == 2
    assert "the fit needs requests that decode at the same time" in capsys.readouterr().err


COLUMNS = st.lists(st.tuples(*[st.floats(-100, 100)] * 3), min_size=6, max_size=12)


@given(COLUMNS, st.tuples(*[st.floats(-10, 10)] * 3))
def test_least_squares_leaves_nothing_that_a_column_could_explain(
    rows: list[tuple[float, ...]], factors: tuple[float, ...]
) -> None:
    columns = list(zip(*rows, strict=True))
    target = [sum(f * value for f, value in zip(factors, row, strict=True)) + i % 2 for i, row in enumerate(rows)]
    found = least_squares(columns, target)
    rest = [t - sum((f or 0) * v for f, v in zip(found, row, strict=True)) for t, row in zip(target, rows, strict=True)]
    scale = max(1.0, *map(abs, target))
    for column, factor in zip(columns, found, strict=True):
        size = sum(abs(value) for value in column)
        if factor is not None and size:
            assert abs(sum(a * b for a, b in zip(column, rest, strict=True))) <= 1e-4 * size * scale


def test_a_column_that_repeats_another_is_undetermined() -> None:
    assert least_squares([(1, 1, 1), (2, 2, 2), (0, 1, 2)], (3, 4, 5)) == [pytest.approx(3), None, pytest.approx(1)]


def test_factors_below_zero_are_not_given() -> None:
    rising, falling = (1.0, 2.0, 3.0), (3.0, 2.0, 1.0)
    assert least_squares([rising, falling], (3, 1, -1)) == [pytest.approx(-0.75), pytest.approx(1.25)]
    assert least_squares_not_negative([rising, falling], (3, 1, -1)) == [0.0, pytest.approx(10 / 14)]


def test_a_fit_of_points_alone() -> None:
    points = [
        Point(StepFigures(p, d, k), 0.01 + 2e-5 * p + 1e-4 * d + 1e-7 * k)
        for p in (0, 90)
        for d in (1, 9)
        for k in (5, 800)
    ]
    found = fit_linear(points)
    assert found.linear.per_kv_token == pytest.approx(1e-7)
    assert (found.num_steps, found.num_outliers, found.undetermined) == (8, 0, ())
