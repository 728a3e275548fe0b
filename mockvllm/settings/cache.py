"""vLLM's options of the KV cache, and of what leaves and enters it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from mockvllm.settings.knob import knob
from mockvllm.settings.values import human_int, json_object


@dataclass(frozen=True, init=False, repr=False, eq=False)
class CacheConfig:
    """KV blocks and prefix caching."""

    block_size: int | None = knob(None, "tokens of a KV block; unset: 16", within="[1, inf)")
    gpu_memory_utilization: float | None = knob(
        None,
        "share of a GPU's memory the engine uses; unset: 72e9 of 80e9 bytes, shown as 0.92",
        "--device-memory-utilization",
        within="(0, 1]",
    )
    kv_cache_memory_bytes: int | None = knob(
        None, "bytes of KV cache a GPU has, instead of what is left", parse=human_int, within="[1, inf)"
    )
    kv_cache_dtype: str = knob("auto", "type of the KV cache; auto: that of the model")
    num_gpu_blocks_override: int | None = knob(None, "KV blocks, whatever fits", within="[1, inf)")
    enable_prefix_caching: bool | None = knob(None, "reuse KV blocks of equal prefixes; unset: on")
    prefix_caching_hash_algo: Literal["sha256", "sha256_cbor", "xxhash", "xxhash_cbor"] = knob(
        "sha256", "hash of a block"
    )
    prefix_cache_retention_interval: int | None = knob(0, "interval of blocks that are kept", within="[0, inf)")
    kv_offloading_size: float | None = knob(None, "GiB of offloaded KV cache", within="[0, inf)")
    kv_offloading_backend: Literal["lmcache", "native"] = knob("native", "where the KV cache is offloaded to")


@dataclass(frozen=True, init=False, repr=False, eq=False)
class VllmConfig:
    """Speculative decoding, KV transfer, KV events, profiling."""

    speculative_config: Mapping[str, Any] | None = knob(None, "speculative decoding", "-sc")
    spec_method: str | None = knob(None, "method of speculative decoding")
    spec_model: str | None = knob(None, "draft model")
    spec_tokens: int | None = knob(None, "draft tokens of a step", within="[1, inf)")
    kv_transfer_config: Mapping[str, Any] | None = knob(
        None, "KV transfer between prefill and decode servers; NixlConnector acts"
    )
    kv_events_config: Mapping[str, Any] | None = knob(None, "publisher of KV-cache events")
    reasoning_config: Mapping[str, Any] | None = knob(None, "how reasoning is bounded")
    structured_outputs_config: Mapping[str, Any] = knob({}, "structured output", parse=json_object)
    profiler_config: Mapping[str, Any] = knob({}, "profiler; with one, /start_profile and /stop_profile are served")
    optimization_level: str = knob("2", "optimization level", "-O")
    performance_mode: Literal["balanced", "interactivity", "throughput"] = knob(
        "balanced", "throughput doubles the defaults of batched tokens and sequences"
    )
