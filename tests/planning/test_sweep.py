"""`mockvllm sweep`: the lesson's sweep, a real one, the same rules on other inputs, and what it refuses."""

import json
from pathlib import Path
from typing import Any

import pytest
from figures import DATA, refusal, run, show
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

LESSON = sorted((DATA / "sweep").glob("sweep-c*.json"))
REAL = sorted((DATA / "bench").glob("sweep-c*.json"))


def result(concurrency: int, **changes: Any) -> dict[str, Any]:
    """A steady run: 100 tokens each, 100 ms to the first and 10 ms for each other, so 1.09 s in all."""
    rate = concurrency / 1.09
    return {
        "max_concurrency": concurrency, "completed": 200, "failed": 0, "total_output_tokens": 20_000,
        "request_throughput": rate, "request_goodput": rate, "output_throughput": rate * 100,
        "mean_ttft_ms": 100.0, "p95_ttft_ms": 120.0, "p99_ttft_ms": 130.0,
        "mean_tpot_ms": 10.0, "p95_tpot_ms": 11.0, "p99_tpot_ms": 12.0, **changes,
    }  # fmt: skip


def write(directory: Path, *results: dict[str, Any]) -> list[Path]:
    paths = []
    for index, values in enumerate(results):
        path = directory / f"{index}.json"
        path.write_text(json.dumps(values), "utf-8")
        paths.append(path)
    return paths


@pytest.mark.parametrize("files", [[], LESSON, LESSON[::-1]], ids=["built in", "files", "files in any order"])
def test_the_lesson(files: list[Path]) -> None:
    sweep = show("sweep", *files)
    points = sweep["points"]
    assert [point["concurrency"] for point in points] == [16, 32, 48, 64, 72, 80, 96]
    assert [round(points[i]["w_little_s"], 2) for i in (0, -1)] == [6.16, 15.04]
    assert [round(point["goodput_share"], 2) for point in points] == [1, 1, 1, 0.99, 0.95, 0.71, 0.42]
    assert [point["ok"] for point in points] == [True] * 5 + [False] * 2
    assert sweep["knee"]["concurrency"] == 72
    assert round(sweep["knee"]["request_throughput"], 2) == 6.06
    assert round(sweep["planned_request_throughput"], 2) == 4.24
    for point in points:
        assert point["w_measured_s"] == pytest.approx(point["w_little_s"])
        assert point["output_throughput"] == pytest.approx(point["request_throughput"] * 250)
        assert point["marks"] == []


def test_the_table_says_the_same() -> None:
    out = run("sweep").out
    assert [line.split()[0] for line in out.splitlines() if line.endswith("knee ")] == ["72"]
    assert "knee: 72 in flight, 6.06 requests/s" in out
    assert "plan with 70% of that: 4.24 requests/s" in out


def test_a_real_sweep() -> None:
    sweep = show("sweep", *REAL)
    assert sweep["knee"]["concurrency"] == 16
    assert [point["ok"] for point in sweep["points"]] == [True, True, True, False, False]
    for point, path in zip(sweep["points"], REAL, strict=True):
        saved = json.loads(path.read_text("utf-8"))
        assert point["p95_ttft_ms"] == saved["p95_ttft_ms"]
        assert point["w_little_s"] == pytest.approx(saved["max_concurrency"] * saved["duration"] / saved["completed"])
        assert point["w_measured_s"] == pytest.approx(saved["mean_e2el_ms"] / 1000, rel=0.001)


def test_only_p99_is_refused_with_the_way_out() -> None:
    line = refusal("sweep", DATA / "bench" / "p99-only.json")
    assert "has no p95_ttft_ms, p95_tpot_ms, only p99_ttft_ms, p99_tpot_ms, p99_itl_ms, p99_e2el_ms" in line
    assert "--metric-percentiles 50,95,99" in line
    assert "--percentile-metrics" not in line


def test_a_result_without_percentiles_is_refused_the_same_way(tmp_path: Path) -> None:
    files = write(tmp_path, {"max_concurrency": 4, "mean_ttft_ms": 1.0})
    assert "has no p95_ttft_ms, p95_tpot_ms, nor any percentile: run vllm bench serve with" in refusal("sweep", *files)


def test_it_can_be_read_at_the_percentile_it_has() -> None:
    [point] = show("sweep", DATA / "bench" / "p99-only.json", "--percentile", 99)["points"]
    assert (point["concurrency"], point["ok"]) == (8, True)


def test_a_metric_that_was_not_measured_has_its_own_flag(tmp_path: Path) -> None:
    line = refusal("sweep", *write(tmp_path, result(4)), "--slo", "ttft=1000,e2el=5000", "--percentile", "99.9")
    assert "has no p99.9_ttft_ms, p99.9_e2el_ms" in line
    assert "--metric-percentiles 50,99,99.9 --percentile-metrics ttft,tpot,itl,e2el" in line


@given(good=st.lists(st.booleans(), min_size=1, max_size=8), share=st.floats(0.01, 1), limit=st.floats(1, 10_000))
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_knee_is_the_last_before_the_first_bad_one(
    tmp_path: Path, good: list[bool], share: float, limit: float
) -> None:
    files = write(
        tmp_path,
        *(result(10 + i, p95_ttft_ms=limit if ok else limit * 1.001) for i, ok in enumerate(good)),
    )
    sweep = show("sweep", *files, "--slo", f"ttft={limit!r}", "--plan-share", share)
    leading = good.index(False) if False in good else len(good)
    assert [point["ok"] for point in sweep["points"]] == good
    if leading == 0:
        assert (sweep["knee"], sweep["planned_request_throughput"]) == (None, None)
    else:
        rate = (9 + leading) / 1.09
        assert sweep["knee"] == {"concurrency": 9 + leading, "request_throughput": pytest.approx(rate)}
        assert sweep["planned_request_throughput"] == pytest.approx(share * rate)


def test_no_knee_is_said(tmp_path: Path) -> None:
    assert "No knee" in run("sweep", *write(tmp_path, result(4)), "--slo", "tpot=10.9").out


@pytest.mark.parametrize(
    ("changes", "mark"),
    [
        ({"max_concurrency": 11}, []),
        ({"mean_ttft_ms": 300.0}, ["Little is off by -16%"]),
        ({"mean_tpot_ms": 8.0}, ["Little is off by +22%"]),
        ({"output_throughput": 800.0}, ["throughput is off by -13%"]),
        ({"failed": 3}, ["3 requests failed"]),
    ],
)
def test_what_does_not_add_up_is_marked_not_refused(tmp_path: Path, changes: dict[str, Any], mark: list[str]) -> None:
    files = write(tmp_path, {**result(10), **changes})
    [point] = show("sweep", *files)["points"]
    assert point["marks"] == mark
    assert all(f"{files[0]}: {text}" in run("sweep", *files).out for text in mark)


def test_a_run_without_goodput(tmp_path: Path) -> None:
    [point] = show("sweep", *write(tmp_path, result(10, request_goodput=None)))["points"]
    assert point["goodput_share"] is None


def test_appended_results_are_one_a_line(tmp_path: Path) -> None:
    path = tmp_path / "appended.json"
    path.write_text("\n".join(json.dumps(result(n)) for n in (8, 4)) + "\n", "utf-8")
    assert [point["concurrency"] for point in show("sweep", path)["points"]] == [4, 8]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"max_concurrency": None}, "max_concurrency is missing: a sweep needs runs with --max-concurrency N"),
        ({"max_concurrency": 2.5}, "max_concurrency is 2.5: a sweep needs runs with --max-concurrency N"),
        ({"completed": 0}, "completed must be above 0"),
        ({"request_throughput": -1}, "request_throughput must be a number and not negative, not -1"),
        ({"mean_ttft_ms": float("nan")}, "mean_ttft_ms must be a number and not negative, not nan"),
        ({"output_throughput": "fast"}, "output_throughput must be a number and not negative, not 'fast'"),
        ({"p95_tpot_ms": float("inf")}, "p95_tpot_ms must be a number and not negative, not inf"),
        ({"mean_tpot_ms": None}, "mean_tpot_ms is missing"),
        ({"mean_ttft_ms": 0, "mean_tpot_ms": 0}, "by mean_ttft_ms and mean_tpot_ms a request takes no time"),
        ({"total_output_tokens": True}, "total_output_tokens must be a number and not negative, not True"),
    ],
)
def test_impossible_figures_are_named(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    files = write(tmp_path, {**result(10), **changes})
    assert f"{files[0]}: {message}" in refusal("sweep", *files)


def test_the_same_concurrency_twice_is_refused(tmp_path: Path) -> None:
    one, other = write(tmp_path, result(8), result(8))
    assert f"{one} and {other}: both are of concurrency 8" in refusal("sweep", one, other)


def open_loop(rate: float, **changes: Any) -> dict[str, Any]:
    """A steady run at 9 requests a second, which was asked for `rate`."""
    return {**result(10), "max_concurrency": None, "request_rate": rate, **changes}


def test_an_open_loop_is_ordered_by_its_rate(tmp_path: Path) -> None:
    done = 10 / 1.09
    files = write(tmp_path, open_loop(9), open_loop(9.5, p95_ttft_ms=1001.0), open_loop(8, request_throughput=7.9))
    sweep = show("sweep", *files)
    assert [point["request_rate"] for point in sweep["points"]] == [8, 9, 9.5]
    assert [point["ok"] for point in sweep["points"]] == [True, True, False]
    assert [point["w_little_s"] for point in sweep["points"]] == [None] * 3
    assert sweep["knee"] == {"request_rate": 9, "request_throughput": pytest.approx(done)}
    assert sweep["planned_request_throughput"] == pytest.approx(0.7 * done)
    assert "knee: 9 sent per second, 9.17 requests/s" in run("sweep", *files).out


def test_a_rate_that_was_not_reached_is_marked(tmp_path: Path) -> None:
    [point] = show("sweep", *write(tmp_path, open_loop(12)))["points"]
    assert point["marks"] == ["the rate is off by -24%"]


def test_a_limit_in_flight_may_go_with_every_rate(tmp_path: Path) -> None:
    files = write(tmp_path, open_loop(9, max_concurrency=16), open_loop(8, max_concurrency=16))
    assert show("sweep", *files)["knee"]["request_rate"] == 9
    files = write(tmp_path, open_loop(9, max_concurrency=16), open_loop(9, max_concurrency=8))
    assert show("sweep", *files)["knee"]["concurrency"] == 16


@pytest.mark.parametrize(
    "other", [result(4), open_loop(7, max_concurrency=4), result(4, request_rate="inf")], ids=["closed", "both", "inf"]
)
def test_loads_without_an_order_are_refused(tmp_path: Path, other: dict[str, Any]) -> None:
    line = refusal("sweep", *write(tmp_path, open_loop(8, max_concurrency=9), other))
    assert "a sweep varies max_concurrency or request_rate, not both" in line


@pytest.mark.parametrize(
    ("rate", "message"),
    [
        (0, "request_rate must be above 0"),
        (-1, "request_rate must be a number and not negative, not -1"),
        (float("nan"), "request_rate must be a number and not negative, not nan"),
        ("8", "request_rate must be a number and not negative, not '8'"),
    ],
)
def test_impossible_rates_are_named(tmp_path: Path, rate: Any, message: str) -> None:
    assert message in refusal("sweep", *write(tmp_path, open_loop(rate)))


def test_the_same_rate_twice_is_refused(tmp_path: Path) -> None:
    one, other = write(tmp_path, open_loop(8), open_loop(8.0))
    assert f"{one} and {other}: both are of request_rate 8" in refusal("sweep", one, other)


@pytest.mark.parametrize(
    ("content", "message"),
    [("", "is empty"), ("{", "is not JSON"), ("[" * 100_000, "is not JSON"), ("[]", "must hold a JSON object")],
)
def test_a_file_that_is_no_result_is_refused(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "result.json"
    path.write_text(content, "utf-8")
    assert f"{path}: {message}" in refusal("sweep", path)


def test_a_path_that_is_no_file_is_refused(tmp_path: Path) -> None:
    assert f"{tmp_path}: is a directory, not a file" in refusal("sweep", tmp_path)
    assert "nowhere: No such file or directory" in refusal("sweep", tmp_path / "nowhere")
    (tmp_path / "bytes").write_bytes(b"\xff")
    assert "bytes: is not text" in refusal("sweep", tmp_path / "bytes")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--slo", "ttft"], "--slo: '' is no number"),
        (["--slo", "ttft=0"], "--slo: '0' is not above 0"),
        (["--slo", "ttft=nan"], "--slo: 'nan' is no number"),
        (["--slo", "ttft=inf"], "--slo: 'inf' is not finite"),
        (["--slo", "speed=1"], "--slo: each of ttft, tpot, itl, e2el at most once, not speed=1"),
        (["--slo", "ttft=1,ttft=2"], "--slo: each of ttft, tpot, itl, e2el at most once"),
        (["--percentile", "101"], "--percentile: must be at most 100, not 101"),
        (["--percentile", "0"], "--percentile: '0' is not above 0"),
        (["--plan-share", "1.2"], "--plan-share: must be at most 1, not 1.2"),
        (["--max-concurrency", "4"], "unrecognized arguments: --max-concurrency"),
    ],
)
def test_wrong_flags_are_refused(words: list[str], message: str) -> None:
    assert message in refusal("sweep", *words)
