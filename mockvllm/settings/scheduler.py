"""vLLM's options of the scheduler, of logs and of metrics."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from mockvllm.settings.knob import knob
from mockvllm.settings.values import LogLevel, human_int, json_object


@dataclass(frozen=True, init=False, repr=False, eq=False)
class SchedulerConfig:
    """What a step may hold, who goes first, who is refused."""

    max_num_batched_tokens: int | None = knob(
        None, "token budget of a step; unset: 8192", parse=human_int, within="[1, inf)"
    )
    max_num_scheduled_tokens: int | None = knob(
        None, "tokens scheduled in a step; unset: the budget", parse=human_int, within="[1, inf)"
    )
    max_num_seqs: int | None = knob(None, "requests that run at once; unset: 1024", within="[1, inf)")
    max_num_active_seqs: int | None = knob(None, "requests that run at once and may be preempted", within="[1, inf)")
    max_num_queued_reqs: int | None = knob(None, "requests that may wait; more are refused with 503", within="[0, inf)")
    max_num_queued_tokens: int | None = knob(
        None, "prompt tokens that may wait; more are refused with 503", parse=human_int, within="[0, inf)"
    )
    long_prefill_token_threshold: int = knob(
        0, "most tokens of one prompt in a step; 0: no bound", parse=human_int, within="[0, inf)"
    )
    long_prefill_token_threshold_adaptive: bool = knob(False, "raise that threshold when few requests wait")
    scheduling_policy: Literal["fcfs", "priority"] = knob("fcfs", "who goes first")
    enable_chunked_prefill: bool | None = knob(None, "split long prompts over steps; unset: on")
    scheduler_cls: str | None = knob(None, "scheduler class")
    scheduler_reserve_full_isl: bool = knob(True, "admit a prompt only when all of it fits")
    watermark: float = knob(0.0, "share of the KV blocks kept free on admission", within="[0, 1)")
    prefill_schedule_interval: int = knob(1, "steps from one prefill to the next", within="[1, inf)")
    async_scheduling: bool | None = knob(None, "schedule a step before the last is known; unset: on, but with fixed")
    stream_interval: int = knob(1, "tokens of a streamed event", within="[1, inf)")


@dataclass(frozen=True, init=False, repr=False, eq=False)
class LoggingConfig:
    """What is logged."""

    logging_config: Mapping[str, Any] | None = knob(None, "logging.config dictionary", parse=json_object)
    log_level: LogLevel | None = knob(  # noqa: RUF009 - the alias hides that the type is immutable
        None, "least level that is logged; unset: VLLM_LOGGING_LEVEL", parse=str.upper
    )


@dataclass(frozen=True, init=False, repr=False, eq=False)
class ObservabilityConfig:
    """Metrics and traces."""

    show_hidden_metrics_for_version: str | None = knob(None, "show metrics that this release has hidden")
    otlp_traces_endpoint: str | None = knob(None, "where traces go")
    per_request_spec_decode_metrics: Literal["detailed", "none", "summary"] = knob("none", "draft metrics by request")
    kv_cache_metrics: bool = knob(False, "metrics of how long KV blocks live")
    kv_cache_metrics_sample: float = knob(0.01, "share of the KV blocks that is sampled", within="(0, 1]")
    custom_histogram_buckets: Mapping[str, Any] | None = knob(None, "bounds of histograms by name")
    enable_mfu_metrics: bool = knob(False, "metrics of FLOPs and bytes")
    enable_logging_iteration_details: bool = knob(False, "log every step")
