"""`mockvllm sweep --run` on the virtual clock: its points hold, and its files say what it said."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
from figures import DATA, refusal, run, show
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

SLOWER = ("--step-time", "linear", "--linear-base-ms", 20, "--linear-decode-ms-per-seq", 0.4)
SHORT = ("--random-input-len", 200, "--random-output-len", 40)
LISTS = ["input_lens", "output_lens", "ttfts", "itls", "start_times", "generated_texts", "errors"]


def files(directory: Path) -> list[dict[str, Any]]:
    """The results that were written, the least load first."""
    results = [json.loads(path.read_text("utf-8")) for path in directory.iterdir()]
    return sorted(results, key=lambda result: (float(result["request_rate"]), result["max_concurrency"] or 0))


def timeless(result: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in result.items() if key != "date"}


def test_the_points_hold_and_the_knee_is_where_the_step_takes_too_long() -> None:
    """20 ms + 0.4 ms a sequence: 50 ms are 75 sequences."""
    sweep = show("sweep", "--run", "--max-concurrency", "16,32,64,74,80", *SHORT, *SLOWER)
    assert sweep["knee"]["concurrency"] == 74
    for point in sweep["points"]:
        assert point["marks"] == []
        assert point["w_little_s"] == pytest.approx(point["w_measured_s"], rel=0.03)
        assert point["output_throughput"] == pytest.approx(point["expected_output_throughput"])
        step_ms = 20 + 0.4 * point["concurrency"]
        assert point["p95_tpot_ms"] == pytest.approx(step_ms, rel=0.02)


@given(
    loads=st.sets(st.integers(1, 60), min_size=1, max_size=4),
    base=st.floats(5, 60),
    by_rate=st.booleans(),
    percentile=st.sampled_from([90, 95, 99.5]),
)
@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_files_say_what_the_run_said(
    tmp_path_factory: pytest.TempPathFactory, loads: set[int], base: float, by_rate: bool, percentile: float
) -> None:
    flag = "--request-rate" if by_rate else "--max-concurrency"
    made = tmp_path_factory.mktemp("made")
    reading = ("--slo", "ttft=100,e2el=1500", "--percentile", percentile, "--plan-share", 0.5)
    engine = ("--step-time", "linear", "--linear-base-ms", base, "--num-prompts", 60, "--result-dir", made)
    sweep = show("sweep", "--run", flag, ",".join(map(str, loads)), *SHORT, *engine, *reading)
    assert show("sweep", *made.iterdir(), *reading) == sweep
    name = "request_rate" if by_rate else "concurrency"
    assert [point[name] for point in sweep["points"]] == sorted(loads)
    assert len(files(made)) == len(loads)


@pytest.mark.parametrize("detailed", [True, False])
def test_the_keys_are_those_of_the_real_tool(tmp_path: Path, detailed: bool) -> None:
    flags = ["--save-detailed"] if detailed else []
    run("sweep", "--run", "--max-concurrency", "2", *SHORT, "--result-dir", tmp_path, *flags)
    [made] = files(tmp_path)
    recorded = json.loads((DATA / "bench" / "sweep-c016.json").read_text("utf-8"))
    lists = {*LISTS, "latencies", "queue_times"}
    assert [key for key in made if key not in lists] == list(recorded)
    assert [key for key in made if key in lists] == (
        [*LISTS[:4], "latencies", "start_times", "queue_times", *LISTS[5:]]
        if detailed
        else ["latencies", "queue_times"]
    )
    assert (made["backend"], made["num_prompts"], made["request_rate"]) == ("simulate", 20, "inf")


def test_a_point_is_what_simulate_says_of_it(tmp_path: Path) -> None:
    load = ("--random-range-ratio", 0.5, "--random-prefix-len", 64, "--seed", 3, *SHORT, *SLOWER)
    run("sweep", "--run", "--request-rate", "5,20", "--max-concurrency", 30, *load, "--result-dir", tmp_path)
    for made in files(tmp_path):
        alone = show("simulate", "--request-rate", made["request_rate"], "--max-concurrency", 30, *load)
        shared = [key for key in made if key in alone and key != "request_goodput"]
        assert len(shared) > 30
        assert {key: made[key] for key in shared} == {key: alone[key] for key in shared}


def test_the_seed_decides(tmp_path: Path) -> None:
    def made(name: str, seed: int) -> list[dict[str, Any]]:
        flags = ("--random-range-ratio", 0.5, "--seed", seed, "--save-detailed", "--result-dir", tmp_path / name)
        assert run("sweep", "--run", "--request-rate", "4,8", "--num-prompts", 20, *SHORT, *flags).status == 0
        return [timeless(result) for result in files(tmp_path / name)]

    assert made("one", 1) == made("again", 1)
    assert made("one", 1)[0]["input_lens"] != made("two", 2)[0]["input_lens"]


def test_fit_finds_the_engine_again(tmp_path: Path) -> None:
    load = ("--max-concurrency", "4,16,40", "--random-range-ratio", 0.5, "--no-enable-prefix-caching")
    engine = (*SLOWER, "--linear-prefill-ms-per-token", 0.03)
    run("sweep", "--run", *load, *SHORT, *engine, "--save-detailed", "--result-dir", tmp_path)
    found = show("fit", *tmp_path.iterdir())
    assert found["linear_base_ms"] == pytest.approx(20, rel=0.02)
    assert found["linear_decode_ms_per_seq"] == pytest.approx(0.4, rel=0.02)
    assert found["linear_prefill_ms_per_token"] == pytest.approx(0.03, rel=0.02)


@pytest.mark.parametrize(
    ("flags", "loads", "numbers"),
    [
        ((), [1, 2, 4, 8, 16, 32, 64], [10, 20, 40, 80, 160, 320, 640]),
        (("--max-concurrency", "8,2"), [2, 8], [20, 80]),
        (("--max-concurrency", "3", "--num-prompts", "7"), [3], [7]),
        (("--request-rate", "50"), [0], [1000]),
        (("--max_concurrency", "5"), [5], [50]),
    ],
)
def test_what_is_run_where_nothing_is_said(
    tmp_path: Path, flags: tuple[str, ...], loads: list[int], numbers: list[int]
) -> None:
    assert run("sweep", "--run", *flags, *SHORT, "--result-dir", tmp_path).status == 0
    made = files(tmp_path)
    assert [result["max_concurrency"] or 0 for result in made] == loads
    assert [result["num_prompts"] for result in made] == numbers


def test_nothing_is_written_unless_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("sweep", "--run", "--max-concurrency", "2", *SHORT).status == 0
    assert list(tmp_path.iterdir()) == []


def test_the_promise_is_the_goodput(tmp_path: Path) -> None:
    flags = ("--max-concurrency", "4", "--max-num-seqs", 2, *SHORT, "--ttft-ms", 100, "--itl-ms", 10)
    [strict] = show("sweep", "--run", *flags, "--slo", "ttft=100.5")["points"]
    [easy] = show("sweep", "--run", *flags, "--slo", "ttft=1000,itl=20", "--result-dir", tmp_path)["points"]
    assert strict["goodput_share"] < 0.5 < easy["goodput_share"] == 1
    assert math.isclose(files(tmp_path)[0]["request_goodput"], easy["request_throughput"])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--max-concurrency", "1,0"], "--max-concurrency: '0' is no whole number above 0"),
        (["--max-concurrency", "1,,2"], "--max-concurrency: '' is no whole number above 0"),
        (["--max-concurrency", "4,4"], "--max-concurrency: '4,4' holds a value twice"),
        (["--request-rate", "nan"], "--request-rate: 'nan' is no number"),
        (["--request-rate", "1,-2"], "--request-rate: '-2' is not above 0"),
        (["--request-rate", "inf"], "--request-rate: 'inf' is not finite"),
        (["--request-rate", "1,2", "--max-concurrency", "1,2"], "only one of them may be a list"),
        (["--num-prompts", "0"], "--num-prompts: '0' is no whole number above 0"),
        (["--slo", "ttft=0"], "--slo: '0' is not above 0"),
        (["--percentile", "200"], "--percentile: must be at most 100, not 200"),
        (["--random-input-len", "20000"], "a prompt of 20000 tokens is refused, as max_model_len is 8192"),
        (["--random-input-len", "3000", "--num-gpu-blocks-override", "100"], "can never be admitted"),
        (["--max-num-seqs", "0"], "--max-num-seqs: 0 is not in"),
        (["--step-time", "sundial"], "sundial"),
        (["--plot", "nowhere/sweep.png"], "--plot nowhere/sweep.png: No such file or directory"),
        (["--plot", "sweep.gold"], "--plot sweep.gold: Format 'gold' is not supported"),
        (["--ttft-ms", "0", "--itl-ms", "0"], "the run took no time"),
        (["--temperature", "0"], "--temperature"),
        (["--base-url", "nowhere"], "--base-url: 'nowhere' is no URL of the form http://host:port"),
    ],
)
def test_wrong_flags_are_refused_before_anything_runs(tmp_path: Path, words: list[str], message: str) -> None:
    assert message in refusal("sweep", "--run", "--result-dir", tmp_path / "made", *words)
    assert not (tmp_path / "made").exists() or not list((tmp_path / "made").iterdir())


def test_a_picture_of_it(tmp_path: Path) -> None:
    path = tmp_path / "sweep.svg"
    assert run("sweep", "--run", "--request-rate", "5,9", "--num-prompts", 20, *SHORT, "--plot", path).status == 0
    assert path.stat().st_size > 10_000


def test_a_first_token_at_once_is_no_error() -> None:
    [point] = show("sweep", "--run", "--max-concurrency", 2, *SHORT, "--ttft-ms", 0, "--itl-ms", 5)["points"]
    assert point["p95_ttft_ms"] == 0
    assert point["w_measured_s"] == pytest.approx(39 * 0.005)


def test_one_token_each_has_no_tpot() -> None:
    [point] = show("sweep", "--run", "--max-concurrency", 2, "--random-output-len", 1)["points"]
    assert (point["p95_tpot_ms"], point["w_measured_s"]) == (0, pytest.approx(0.3))


def test_a_place_where_nothing_can_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert "file" in refusal("sweep", "--run", "--max-concurrency", "1", "--result-dir", tmp_path / "file")


def test_help_names_both_ways() -> None:
    assert "--run" in run("sweep", "--help").out
    virtual = run("sweep", "--run", "--help").out
    live = run("sweep", "--run", "--base-url", "http://localhost:1", "--help").out
    assert "--step-time" in virtual
    assert "--temperature" not in virtual
    assert "--temperature" in live
