"""`mockvllm simulate` with a workload, as a person runs it."""

import json
from pathlib import Path

import pytest
from simulated import refused, run, simulate

SMALL = ("--num-prompts", 12, "--random-input-len", 40, "--random-output-len", 10, "--step-time", "linear")
BENCH_KEYS = [
    "num_prompts",
    "request_rate",
    "burstiness",
    "max_concurrency",
    "duration",
    "completed",
    "failed",
    "total_input_tokens",
    "total_output_tokens",
    "request_throughput",
    "request_goodput",
    "output_throughput",
    "total_token_throughput",
    "max_output_tokens_per_s",
    "max_concurrent_requests",
    "mean_ttft_ms",
    "median_ttft_ms",
    "std_ttft_ms",
    "p50_ttft_ms",
    "p95_ttft_ms",
    "p99_ttft_ms",
    "mean_tpot_ms",
]
OWN_KEYS = {
    "steps",
    "peak_running",
    "mean_queue_ms",
    "preemptions",
    "recomputed_tokens",
    "prefix_hit_rate",
    "peak_kv_cache_usage",
    "by_priority",
    "series",
}


def test_the_keys_are_those_of_vllm_bench_serve_in_their_order_and_ours_behind() -> None:
    keys = list(simulate(*SMALL))
    assert [key for key in keys if key in BENCH_KEYS] == BENCH_KEYS
    assert set(keys) >= OWN_KEYS
    assert keys.index("steps") > keys.index("p99_e2el_ms")


def test_the_reference_load() -> None:
    result = simulate(
        *("--num-prompts", 1000, "--max-concurrency", 128, "--random-input-len", 2000, "--random-output-len", 250),
        *("--max-num-seqs", 128, "--num-gpu-blocks-override", 13046, "--max-num-batched-tokens", 8192),
        *("--no-enable-prefix-caching", "--async-scheduling", "--step-time", "linear", "--linear-base-ms", 40),
    )
    assert (result["steps"], result["preemptions"], result["recomputed_tokens"]) == (2780, 105, 220_297)
    assert (result["peak_running"], result["completed"], result["max_concurrency"]) == (103, 1000, 128)
    assert result["duration"] == pytest.approx(2780 * 0.040)
    assert result["peak_kv_cache_usage"] == 1.0
    assert result["median_tpot_ms"] == pytest.approx(40.0)
    assert result["request_rate"] == "inf"


def test_fixed_pace_says_tokens_at_their_times() -> None:
    result = simulate(
        *("--num-prompts", 20, "--request-rate", 4, "--random-input-len", 30, "--random-output-len", 5),
        *("--step-time", "fixed", "--ttft-ms", 200, "--itl-ms", 50),
    )
    for key in ("mean_ttft_ms", "p99_ttft_ms"):
        assert result[key] == pytest.approx(200)
    for key in ("mean_tpot_ms", "median_itl_ms", "p99_itl_ms"):
        assert result[key] == pytest.approx(50)
    assert result["p99_e2el_ms"] == pytest.approx(400)
    assert result["duration"] == pytest.approx(20 / 4 + 0.4)


def test_a_shared_prefix_is_found_in_the_cache() -> None:
    flags = ("--num-prompts", 10, "--max-concurrency", 1, "--random-input-len", 16, "--random-prefix-len", 64)
    assert simulate(*flags, "--step-time", "linear")["prefix_hit_rate"] == pytest.approx(9 * 64 / (10 * 80))
    off = simulate(*flags, "--step-time", "linear", "--no-enable-prefix-caching")
    assert off["prefix_hit_rate"] == 0
    assert off["total_input_tokens"] == 10 * 80


def test_the_less_urgent_are_preempted() -> None:
    result = simulate(
        *("--num-prompts", 60, "--max-concurrency", 30, "--random-input-len", 100, "--random-output-len", 100),
        *("--priority-mix", "0=0.2,10=0.8", "--scheduling-policy", "priority", "--num-gpu-blocks-override", 150),
        *("--step-time", "linear"),
    )
    urgent, other = result["by_priority"]["0"], result["by_priority"]["10"]
    assert urgent["completed"] + other["completed"] == 60
    assert urgent["preemptions"] == 0
    assert other["preemptions"] == result["preemptions"] > 0
    assert other["recomputed_tokens"] == result["recomputed_tokens"] > 0
    assert urgent["mean_ttft_ms"] < other["mean_ttft_ms"]


def test_a_trace_says_when_and_what(tmp_path: Path) -> None:
    trace = tmp_path / "trace.jsonl"
    lines = [
        {"timestamp": 10.0, "input_length": 33, "output_length": 4, "hash_ids": [1, 2]},
        {"timestamp": 12.0, "input_length": 40, "output_length": 6, "hash_ids": [1, 2, 3], "priority": 3},
    ]
    trace.write_text("\n".join(map(json.dumps, lines)))
    result = simulate("--timed-trace", trace, "--step-time", "linear", "--linear-base-ms", 100)
    assert (result["num_prompts"], result["total_input_tokens"], result["total_output_tokens"]) == (2, 73, 10)
    assert result["prefix_hit_rate"] == pytest.approx(32 / 73)
    assert result["duration"] == pytest.approx(2.0 + 0.6)
    assert list(result["by_priority"]) == ["0", "3"]


def test_the_same_seed_gives_the_same_result_and_another_does_not() -> None:
    flags = (*SMALL, "--request-rate", 9, "--random-range-ratio", 0.5, "--step-time-spread", 0.2)
    assert simulate(*flags, "--seed", 4) == simulate(*flags, "--seed", 4)
    assert simulate(*flags, "--seed", 4) != simulate(*flags, "--seed", 5)


def test_step_by_step_gives_the_same_result() -> None:
    flags = (*SMALL, "--request-rate", 9, "--random-range-ratio", 0.5, "--linear-kv-ms-per-token", 0.01)
    assert simulate(*flags) == simulate(*flags, "--step-by-step")


def test_details_and_files(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    shown = simulate(*SMALL, "--result-filename", path, "--save-detailed", "--goodput", "ttft:100", "e2el:500")
    assert json.loads(path.read_text()) == shown
    assert [len(shown[key]) for key in ("input_lens", "output_lens", "ttfts", "itls", "start_times")] == [12] * 5
    assert [len(gaps) for gaps in shown["itls"]] == [9] * 12
    assert shown["request_goodput"] == shown["request_throughput"]
    assert list(shown).index("total_token_throughput") < list(shown).index("ttfts") < list(shown).index("mean_ttft_ms")


def test_metrics_and_percentiles_are_chosen() -> None:
    result = simulate(*SMALL, "--percentile-metrics", "e2el", "--metric-percentiles", "10,99.9")
    assert {"p10_e2el_ms", "p99.9_e2el_ms", "p99.9_queue_ms"} <= set(result)
    assert not {"mean_ttft_ms", "p99_e2el_ms"} & set(result)


def test_the_table_shows_the_figures() -> None:
    shown = run(*SMALL, "--max-concurrency", 4, "--priority-mix", "0:1,10:1")
    assert (shown.status, shown.err) == (0, "")
    for text in ("requests  ", "time to first token", "KV cache usage, peak", "By priority", "preemptions"):
        assert text in shown.out


def test_flags_may_have_underscores_and_engine_flags_are_the_servers() -> None:
    underscored = simulate(
        *("--num_prompts", 3, "--random_output_len", 4, "--max_num_seqs=1", "--step_time=linear", "--linear-base-ms=20")
    )
    assert underscored["peak_running"] == 1
    assert underscored["median_tpot_ms"] == pytest.approx(20)


def test_the_picture_is_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    path = tmp_path / "out.png"
    result = simulate(
        *("--num-prompts", 60, "--max-concurrency", 30, "--random-input-len", 100, "--random-output-len", 100),
        *("--num-gpu-blocks-override", 150, "--step-time", "linear", "--plot", path),
    )
    assert path.read_bytes().startswith(b"\x89PNG")
    series = result["series"]
    assert len(series["time"]) == len(series["running"]) == len(series["waiting"]) == len(series["kv_cache_usage"])
    assert max(series["running"]) <= result["peak_running"]
    assert any(request["pauses"] for request in series["requests"])
    for request in series["requests"]:
        assert request["sent"] <= request["scheduled"] <= request["first_token"] <= request["finished"]


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (
            ["--random-input-len", 300_000],
            "request 0: a prompt of 300000 tokens can never be admitted: the KV cache holds 208720 tokens (13045",
        ),
        (
            ["--random-input-len", 600, "--random-range-ratio", 0.9, "--num-gpu-blocks-override", 65],
            "can never be admitted: the KV cache holds 1024 tokens (64 blocks of 16)",
        ),
        (
            ["--random-input-len", 1000, "--random-output-len", 100, "--num-gpu-blocks-override", 65],
            "a prompt of 1000 and 100 output tokens can never be finished: the KV cache holds 1024 tokens",
        ),
        (
            ["--random-input-len", 9000],
            "a prompt of 9000 tokens is refused, as max_model_len is 8192 (--max-model-len)",
        ),
        (["--max-model-len", 20_000, "--num-gpu-blocks-override", 100], "max seq len (20000)"),
        (["--num-prompts", 0], "argument --num-prompts: '0' is no whole number above 0"),
        (["--request-rate", -1], "argument --request-rate: '-1' is not above 0"),
        (["--random-range-ratio", 1], "argument --random-range-ratio: '1' is not in [0, 1)"),
        (["--priority-mix", "a=1"], "argument --priority-mix: 'a=1' is not PRIORITY=WEIGHT"),
        (["--priority-mix", "0=1,0=2"], "argument --priority-mix: priority 0 is there twice"),
        (["--percentile-metrics", "ttft,nonsense"], "argument --percentile-metrics: 'nonsense' is none of ttft"),
        (["--metric-percentiles", "0"], "argument --metric-percentiles: '0': percentiles are above 0 and at most 100"),
        (["--goodput", "itl:5"], "argument --goodput: 'itl' is none of ttft, tpot, e2el"),
        (["--timed-trace", "no-such-file"], "No such file or directory: 'no-such-file'"),
        (["--timed-trace", "x", "--request-rate", 3], "--request-rate does not go with --timed-trace"),
        (["--max-num-sequences", 3], "unrecognized arguments: --max-num-sequences"),
        (["--step-time", "linear", "--linear-base-ms", 0], "the run took no time: every step takes 0 ms (--step-time)"),
        (["--profile", "0.30", "--max-num-active-seqs", 4], "max_num_active_seqs (4) is not an option of this release"),
        (["--scenario", "x", "--max-num-seqs", 4], "--max-num-seqs does not go with --scenario"),
        (["--scenario", "x", "--num-prompts=4"], "--num-prompts does not go with --scenario"),
        (["--scenario", "x", "--profile", "0.32", "--seed", 0], "--seed does not go with --scenario"),
        (["--scenario", "x", "--json"], "--json does not go with --scenario"),
        (["--scenario", "x", "--plot", "y.png"], "--plot does not go with --scenario"),
        (["--scenario", "x", "some/model"], "some/model does not go with --scenario"),
        (["--trace", "x"], "--trace is that of a --scenario, and there is none"),
        (["--timed-trace-chunk-hash-size", 16], "--timed-trace-chunk-hash-size is for a --timed-trace"),
        (["--timed-trace-sec-multiplier", 1], "--timed-trace-sec-multiplier is for a --timed-trace"),
    ],
)
def test_what_cannot_be_is_one_line_and_exit_2(flags: list[object], message: str) -> None:
    line = refused(*flags)
    assert line.startswith("mockvllm simulate: error: ")
    assert message in line


def test_a_small_kv_cache_is_no_error_by_itself() -> None:
    result = simulate(*SMALL, "--num-gpu-blocks-override", 10)
    assert result["completed"] == 12
    assert result["peak_running"] <= 3
