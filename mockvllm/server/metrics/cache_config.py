"""The labels of `vllm:cache_config_info`: vLLM's CacheConfig as text (0.33)."""

from mockvllm.engine.config import SchedulerConfig
from mockvllm.planning.kv_cache import capacity
from mockvllm.settings import Settings

UNSET = dict.fromkeys(
    (
        "cache_hit_alignment_tokens",
        "hash_block_size",
        "kv_cache_layout",
        "kv_offloading_size",
        "mamba_block_size",
        "mamba_page_size_padded",
        "num_cpu_blocks",
        "prefix_match_unit",
        "simple_cpu_offload_num_blocks",
        "skip_page_size_padded",
        "sliding_window",
    ),
    "None",
)
FIXED = {
    "_block_size_resolved": "True",
    "enable_mamba_shared_prefix_checkpoint": "False",
    "is_attention_free": "False",
    "kv_cache_dtype_skip_layers": "[]",
    "kv_sharing_fast_prefill": "False",
    "mamba_cache_dtype": "auto",
    "mamba_cache_mode": "none",
    "mamba_ssm_cache_dtype": "auto",
    "replayssm_buffer_len": "16",
    "swa_bounded_replay": "True",
    "use_kda_recoverssm": "False",
    "use_replayssm": "False",
}


def cache_config_labels(settings: Settings, config: SchedulerConfig, gpu_memory_utilization: float) -> dict[str, str]:
    """Every label but `engine`, in alphabetical order."""
    room = capacity(config.num_gpu_blocks, config.max_model_len, config.block_size)
    known = {
        "block_size": config.block_size,
        "cache_dtype": settings.kv_cache_dtype,
        "effective_attention_block_size": config.block_size,
        "enable_prefix_caching": config.enable_prefix_caching,
        "gpu_memory_utilization": gpu_memory_utilization,
        "kv_cache_max_concurrency": room.max_concurrency,
        "kv_cache_memory_bytes": settings.kv_cache_memory_bytes,
        "kv_cache_size_tokens": room.kv_cache_tokens,
        "kv_offloading_backend": settings.kv_offloading_backend,
        "num_gpu_blocks": config.num_gpu_blocks,
        "num_gpu_blocks_override": settings.num_gpu_blocks_override,
        "prefix_cache_retention_interval": settings.prefix_cache_retention_interval,
        "prefix_caching_hash_algo": settings.prefix_caching_hash_algo,
        "user_specified_block_size": settings.block_size is not None,
    }
    return dict(sorted((UNSET | FIXED | {name: str(value) for name, value in known.items()}).items()))
