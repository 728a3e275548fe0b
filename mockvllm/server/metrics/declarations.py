"""One declaration per metric, in the order of vLLM's exposition (0.33; HELP texts and buckets are vLLM's)."""

from dataclasses import dataclass
from typing import Literal

Kind = Literal["counter", "gauge", "histogram", "info"]

REQUEST_LATENCY = (0.3, 0.5, 0.8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680)
TIME_TO_FIRST_TOKEN = (
    0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80, 160, 640, 2560,
)  # fmt: skip
INTER_TOKEN = (0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80)

FINISHED_REASONS = ("stop", "length", "abort", "error", "repetition")


@dataclass(frozen=True, slots=True)
class Metric:
    """`name` without the `vllm:` prefix and, for counters, without `_total`. `label`: one more label and its values."""

    name: str
    kind: Kind
    help: str
    label: tuple[str, tuple[str, ...]] | None = None
    buckets: tuple[float, ...] = ()


METRICS = (
    Metric("num_requests_running", "gauge", "Number of requests in model execution batches."),
    Metric("num_requests_waiting", "gauge", "Number of requests waiting to be processed."),
    Metric("kv_cache_usage_perc", "gauge", "KV-cache usage. 1 means 100 percent usage."),
    Metric("prefix_cache_queries", "counter", "Prefix cache queries, in terms of number of queried tokens."),
    Metric("prefix_cache_hits", "counter", "Prefix cache hits, in terms of number of cached tokens."),
    Metric("num_preemptions", "counter", "Cumulative number of preemption from the engine."),
    Metric("prompt_tokens", "counter", "Number of prefill tokens processed."),
    Metric("generation_tokens", "counter", "Number of generation tokens processed."),
    Metric(
        "request_success",
        "counter",
        "Count of successfully processed requests.",
        label=("finished_reason", FINISHED_REASONS),
    ),
    Metric(
        "time_to_first_token_seconds",
        "histogram",
        "Histogram of time to first token in seconds.",
        buckets=TIME_TO_FIRST_TOKEN,
    ),
    Metric(
        "inter_token_latency_seconds",
        "histogram",
        "Histogram of inter-token latency in seconds.",
        buckets=INTER_TOKEN,
    ),
    Metric(
        "e2e_request_latency_seconds",
        "histogram",
        "Histogram of e2e request latency in seconds.",
        buckets=REQUEST_LATENCY,
    ),
    Metric("cache_config_info", "info", "Information of the LLMEngine CacheConfig"),
)
