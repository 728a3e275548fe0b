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
    """`name` without the `vllm:` prefix and, for counters, without `_total`. `label`: one more label and its values.
    `only_consumers`: of servers whose KV connector fetches.
    """

    name: str
    kind: Kind
    help: str
    label: tuple[str, tuple[str, ...]] | None = None
    buckets: tuple[float, ...] = ()
    only_consumers: bool = False


METRICS = (
    Metric("num_requests_running", "gauge", "Number of requests in model execution batches."),
    Metric("num_requests_waiting", "gauge", "Number of requests waiting to be processed."),
    Metric(
        "num_requests_waiting_by_reason",
        "gauge",
        "Number of waiting requests by reason. Reason labels: 'capacity' = waiting for scheduling capacity; "
        "'deferred' = deferred by transient constraints (LoRA budget, KV transfer, blocked status). Sum of all "
        "reasons equals vllm:num_requests_waiting.",
        label=("reason", ("capacity", "deferred")),
    ),
    Metric(
        "num_requests_kv_fetch_by_stage",
        "gauge",
        "Number of requests that fetch KV from another server, by stage.",
        label=("stage", ("waiting_to_start", "in_progress", "completed_waiting")),
        only_consumers=True,
    ),
    Metric("kv_cache_usage_perc", "gauge", "KV-cache usage. 1 means 100 percent usage."),
    Metric("prefix_cache_queries", "counter", "Prefix cache queries, in terms of number of queried tokens."),
    Metric("prefix_cache_hits", "counter", "Prefix cache hits, in terms of number of cached tokens."),
    Metric(
        "external_prefix_cache_queries",
        "counter",
        "External prefix cache queries from KV connector cross-instance cache sharing, in terms of number of queried "
        "tokens.",
    ),
    Metric(
        "external_prefix_cache_hits",
        "counter",
        "External prefix cache hits from KV connector cross-instance cache sharing, in terms of number of cached "
        "tokens.",
    ),
    Metric("num_preemptions", "counter", "Cumulative number of preemption from the engine."),
    Metric("prompt_tokens", "counter", "Number of prefill tokens processed."),
    Metric(
        "prompt_tokens_by_source",
        "counter",
        "Number of prompt tokens by source.",
        label=("source", ("local_compute", "local_cache_hit", "external_kv_transfer")),
    ),
    Metric("prompt_tokens_cached", "counter", "Number of cached prompt tokens (local + external)."),
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
