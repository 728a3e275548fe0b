"""From settings to the engine, live or simulated: blocks, scheduler, step time."""

from mockvllm.engine import Fixed, Linear, Pacing, SchedulerConfig, StepTime
from mockvllm.planning.memory import reference_num_gpu_blocks
from mockvllm.settings.derive import Derived
from mockvllm.settings.record import Settings


def make_step_time(settings: Settings) -> StepTime:
    """The model that `--step-time` names."""
    if settings.step_time == "fixed":
        return Fixed(Pacing(settings.queue_ms / 1000, settings.ttft_ms / 1000, settings.itl_ms / 1000))
    return Linear(
        settings.linear_base_ms / 1000,
        settings.linear_prefill_ms_per_token / 1000,
        settings.linear_decode_ms_per_seq / 1000,
        settings.linear_kv_ms_per_token / 1000,
    )


def num_gpu_blocks(settings: Settings, block_size: int) -> int:
    """`--num-gpu-blocks-override`, or what the reference replica's memory holds."""
    if settings.num_gpu_blocks_override:
        return settings.num_gpu_blocks_override
    return reference_num_gpu_blocks(
        settings.gpu_memory_utilization,
        block_size=block_size,
        kv_cache_dtype=settings.kv_cache_dtype,
        tensor_parallel_size=settings.tensor_parallel_size if settings.tensor_parallel_size > 1 else None,
        kv_cache_memory_bytes=settings.kv_cache_memory_bytes,
    )


def scheduler_config(settings: Settings, derived: Derived, blocks: int) -> SchedulerConfig:
    """`blocks`: the KV blocks that there are (`num_gpu_blocks`)."""
    return SchedulerConfig(
        num_gpu_blocks=blocks,
        block_size=derived.block_size,
        max_num_seqs=derived.max_num_seqs,
        max_num_active_seqs=settings.max_num_active_seqs,
        max_num_batched_tokens=derived.max_num_batched_tokens,
        max_num_scheduled_tokens=settings.max_num_scheduled_tokens,
        max_model_len=derived.max_model_len,
        enable_prefix_caching=derived.enable_prefix_caching,
        enable_chunked_prefill=derived.enable_chunked_prefill,
        long_prefill_token_threshold=settings.long_prefill_token_threshold,
        long_prefill_token_threshold_adaptive=settings.long_prefill_token_threshold_adaptive,
        policy=settings.scheduling_policy,
        scheduler_reserve_full_isl=settings.scheduler_reserve_full_isl,
        watermark=settings.watermark,
        prefill_schedule_interval=settings.prefill_schedule_interval,
        async_scheduling=derived.async_scheduling,
    )
