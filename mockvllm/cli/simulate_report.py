"""The result of a simulation as tables."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mockvllm.cli.console import print_table

NAMES = {
    "ttft": "time to first token",
    "tpot": "time per output token",
    "itl": "inter-token latency",
    "e2el": "end-to-end latency",
    "client_queue_time": "client queue",
    "e2el_including_client_queue": "client queue + end-to-end",
    "queue": "  of it in the engine's queue",
}
COUNTS = (
    ("requests", "completed", "{:,}"),
    ("duration", "duration", "{:,.2f} s"),
    ("input tokens", "total_input_tokens", "{:,}"),
    ("output tokens", "total_output_tokens", "{:,}"),
    ("requests per second", "request_throughput", "{:,.2f}"),
    ("  of them good", "request_goodput", "{:,.2f}"),
    ("output tokens per second", "output_throughput", "{:,.1f}"),
    ("tokens per second", "total_token_throughput", "{:,.1f}"),
    ("peak output tokens in a second", "max_output_tokens_per_s", "{:,.0f}"),
    ("steps", "steps", "{:,}"),
    ("running, mean", "mean_running", "{:,.1f}"),
    ("running, peak", "peak_running", "{:,}"),
    ("waiting, mean", "mean_waiting", "{:,.1f}"),
    ("waiting, peak", "peak_waiting", "{:,}"),
    ("KV cache usage, mean", "mean_kv_cache_usage", "{:.1%}"),
    ("KV cache usage, peak", "peak_kv_cache_usage", "{:.1%}"),
    ("preemptions", "preemptions", "{:,}"),
    ("  of so many requests", "preempted_requests", "{:,}"),
    ("recomputed tokens", "recomputed_tokens", "{:,}"),
    ("prefix cache hits", "prefix_hit_rate", "{:.1%}"),
)
CLASS_COUNTS = ("completed", "preemptions", "preempted_requests", "recomputed_tokens")
CLASS_TIMES = ("mean_queue_ms", "mean_ttft_ms", "mean_tpot_ms", "mean_e2el_ms")


def print_report(result: Mapping[str, Any], metrics: Sequence[str], percentiles: Sequence[float]) -> None:
    percentiles = [percentile for percentile in percentiles if percentile != 50]  # the median
    print_table("Simulation", ["figure", "value"], _counts(result))
    columns = ["milliseconds", "mean", "median", *(f"p{percentile:g}" for percentile in percentiles)]
    print_table("Latency", columns, _latencies(result, metrics, percentiles))
    classes = result["by_priority"]
    if len(classes) > 1:
        names = ["requests", "preemptions", "of requests", "recomputed", "queue ms", "TTFT ms", "TPOT ms", "E2E ms"]
        print_table("By priority", ["priority", *names], _classes(classes))


def _counts(result: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, key, form in COUNTS:
        if result[key] is not None:
            yield name, form.format(result[key])


def _latencies(
    result: Mapping[str, Any], metrics: Sequence[str], percentiles: Sequence[float]
) -> Iterator[tuple[str, ...]]:
    for metric in (*metrics, "queue"):
        keys = ["mean", "median", *(f"p{percentile:g}" for percentile in percentiles)]
        yield NAMES[metric], *(f"{result[f'{key}_{metric}_ms']:,.1f}" for key in keys)


def _classes(classes: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, ...]]:
    for name, figures in classes.items():
        counts = (f"{figures[key]:,}" for key in CLASS_COUNTS)
        yield name, *counts, *(f"{figures[key]:,.1f}" for key in CLASS_TIMES)
