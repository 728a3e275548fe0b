"""What follows from options that are unset: the values a server really runs with (vLLM 0.30 to 0.33, `EngineArgs`)."""

from dataclasses import dataclass

from mockvllm.planning.batch_defaults import Usage, batch_defaults
from mockvllm.planning.errors import InputError
from mockvllm.planning.gpus import find_gpu
from mockvllm.settings.errors import SettingsError
from mockvllm.settings.record import Settings

MAX_MODEL_LEN = 8192
REFERENCE_MODEL_LIMIT = 131_072
BLOCK_SIZE = 16
GPU_MEMORY_UTILIZATION = 0.92


@dataclass(frozen=True, slots=True)
class Device:
    """A GPU, or `cpu`: torch's name of it and the bytes it reports."""

    name: str
    memory_bytes: int


REFERENCE_DEVICE = Device("NVIDIA H100 80GB HBM3", 80_000_000_000)


@dataclass(frozen=True, slots=True)
class Derived:
    """Options of the same names, none unset; lengths in tokens."""

    max_model_len: int
    max_num_batched_tokens: int
    max_num_seqs: int
    block_size: int
    gpu_memory_utilization: float
    enable_chunked_prefill: bool
    enable_prefix_caching: bool
    async_scheduling: bool


def device_of(settings: Settings) -> Device:
    """Raises SettingsError for a `--gpu` that is not known."""
    if settings.gpu is None:
        return REFERENCE_DEVICE
    try:
        gpu = find_gpu(settings.gpu)
    except InputError as error:
        raise SettingsError(str(error)) from None
    return Device(gpu.device, gpu.memory_bytes)


def derive(
    settings: Settings,
    *,
    device: Device | None = None,
    usage: Usage = "API server",
    model_limit: int | None = None,
    num_gpu_blocks: int | None = None,
) -> Derived:
    """The values that `settings` stand for on `device` (default: `--gpu`, or the reference replica's).

    `model_limit` is the context the model's config.json allows, None when there is none; `num_gpu_blocks` is what
    `--max-model-len auto` has to fit into (one block of them is never used).
    """
    device = device or device_of(settings)
    block_size = settings.block_size or BLOCK_SIZE
    max_model_len = _max_model_len(settings, model_limit, num_gpu_blocks, block_size)
    chunked = settings.enable_chunked_prefill is not False
    batch = batch_defaults(
        device.name,
        device.memory_bytes,
        max_model_len,
        usage=usage,
        world_size=settings.tensor_parallel_size * settings.pipeline_parallel_size,
        max_num_batched_tokens=settings.max_num_batched_tokens,
        max_num_seqs=settings.max_num_seqs,
        enable_chunked_prefill=chunked,
        performance_mode=settings.performance_mode,
    )
    return Derived(
        max_model_len=max_model_len,
        max_num_batched_tokens=batch.max_num_batched_tokens,
        max_num_seqs=batch.max_num_seqs,
        block_size=block_size,
        gpu_memory_utilization=settings.gpu_memory_utilization or GPU_MEMORY_UTILIZATION,
        enable_chunked_prefill=chunked,
        enable_prefix_caching=settings.enable_prefix_caching is not False,
        async_scheduling=settings.async_scheduling is not False and settings.step_time != "fixed",
    )


def _max_model_len(settings: Settings, model_limit: int | None, num_gpu_blocks: int | None, block_size: int) -> int:
    """As given; without a flag the model's own, and `MAX_MODEL_LEN` when nothing is known of it."""
    if settings.max_model_len is None:
        return model_limit or MAX_MODEL_LEN
    if settings.max_model_len != -1:
        return settings.max_model_len
    limit = model_limit or REFERENCE_MODEL_LIMIT
    return limit if num_gpu_blocks is None else min(limit, max(1, (num_gpu_blocks - 1) * block_size))
