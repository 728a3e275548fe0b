"""From settings to the engine, live or simulated: blocks and scheduler."""

from mockvllm.engine import SchedulerConfig
from mockvllm.planning.memory import reference_num_gpu_blocks
from mockvllm.settings.derive import GPU_MEMORY_UTILIZATION, Derived
from mockvllm.settings.errors import SettingsError
from mockvllm.settings.model_config import model_of
from mockvllm.settings.record import Settings

OVERHEAD_BYTES = 2 * 2**30  # of each GPU: activations and CUDA graphs, as measured servers leave them


def num_gpu_blocks(settings: Settings, block_size: int) -> int:
    """`--num-gpu-blocks-override`, what `--gpu` holds beside the model, or what the reference replica holds."""
    if settings.num_gpu_blocks_override:
        return settings.num_gpu_blocks_override
    if settings.gpu and not settings.kv_cache_memory_bytes:
        return _blocks_on_gpu(settings, settings.gpu, block_size)
    return reference_num_gpu_blocks(
        settings.gpu_memory_utilization,
        block_size=block_size,
        kv_cache_dtype=settings.kv_cache_dtype,
        tensor_parallel_size=settings.tensor_parallel_size if settings.tensor_parallel_size > 1 else None,
        kv_cache_memory_bytes=settings.kv_cache_memory_bytes,
    )


def _blocks_on_gpu(settings: Settings, gpu: str, block_size: int) -> int:
    from mockvllm.planning.dtypes import bytes_by_part, parse_weights_dtype
    from mockvllm.planning.errors import InputError
    from mockvllm.planning.gpus import find_gpu
    from mockvllm.planning.memory import Replica
    from mockvllm.planning.memory import num_gpu_blocks as blocks_of

    try:
        model = model_of(settings)
        dtype = parse_weights_dtype(settings.quantization) if settings.quantization else model.dtype
        replica = Replica(
            weights_bytes=int(sum(bytes_by_part(model.parameters, dtype).values())),
            gpu_memory_bytes=find_gpu(gpu).memory_bytes,
            gpu_memory_utilization=settings.gpu_memory_utilization or GPU_MEMORY_UTILIZATION,
            tensor_parallel_size=settings.tensor_parallel_size,
            pipeline_parallel_size=settings.pipeline_parallel_size,
            overhead_bytes=OVERHEAD_BYTES * settings.tensor_parallel_size * settings.pipeline_parallel_size,
        )
        return blocks_of(replica, model.kv_cache(settings.kv_cache_dtype), block_size)
    except InputError as error:
        raise SettingsError(str(error)) from None


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
