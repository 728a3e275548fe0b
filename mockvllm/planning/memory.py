"""How the memory of a replica is divided: weights, overhead, and blocks of KV cache."""

import math
from dataclasses import dataclass, replace

from mockvllm.planning import reference
from mockvllm.planning.errors import InputError
from mockvllm.planning.formats import KV_BYTES, format_name
from mockvllm.planning.kv_cache import KVCache


@dataclass(frozen=True, slots=True, kw_only=True)
class Replica:
    """The GPUs that hold one copy of a model. The defaults are the reference replica, in round figures.

    `gpu_memory_bytes` of each GPU; `weights_bytes` and `overhead_bytes` (activations, CUDA graphs) of all together.
    """

    weights_bytes: int = reference.WEIGHTS_BYTES
    gpu_memory_bytes: int = 80_000_000_000
    gpu_memory_utilization: float = 0.90
    tensor_parallel_size: int = 2
    pipeline_parallel_size: int = 1
    overhead_bytes: int = 5_000_000_000

    @property
    def gpus(self) -> int:
        return self.tensor_parallel_size * self.pipeline_parallel_size

    @property
    def engine_bytes(self) -> int:
        """What the engine may use of all GPUs. vLLM rounds the share of each up."""
        return self.gpus * math.ceil(self.gpu_memory_bytes * self.gpu_memory_utilization)

    @property
    def kv_room_bytes(self) -> int:
        """Left for KV cache on all GPUs; negative when the weights do not fit."""
        return self.engine_bytes - self.weights_bytes - self.overhead_bytes


REFERENCE_KV = KVCache(layers=80, kv_heads=8, head_bytes=2 * 128 * KV_BYTES["bf16"])  # of `reference.CONFIG`


def num_gpu_blocks(replica: Replica, kv: KVCache, block_size: int = 16) -> int:
    """Blocks on each GPU (vLLM counts the reserved one in): an equal share of the room, in whole blocks."""
    block = kv.bytes_per_block(block_size, replica.tensor_parallel_size, replica.pipeline_parallel_size)
    return max(0, replica.kv_room_bytes // replica.gpus // block)


def reference_num_gpu_blocks(
    gpu_memory_utilization: float | None = None,
    *,
    block_size: int = 16,
    kv_cache_dtype: str = "auto",
    tensor_parallel_size: int | None = None,
    kv_cache_memory_bytes: int | None = None,
) -> int:
    """The server's default block count: the reference replica's (Llama 3.3 70B, FP8 weights, two GPUs), 13,046.

    Each argument is vLLM's flag of that name, None where it is not given; `kv_cache_memory_bytes` is of one GPU and
    replaces the reckoning. Raises InputError for an unknown dtype.
    """
    replica = Replica()
    if gpu_memory_utilization is not None:
        replica = replace(replica, gpu_memory_utilization=gpu_memory_utilization)
    if tensor_parallel_size is not None:
        replica = replace(replica, tensor_parallel_size=tensor_parallel_size)
    kv = REFERENCE_KV
    if kv_cache_dtype != "auto":
        element = KV_BYTES[format_name(kv_cache_dtype, "--kv-cache-dtype", KV_BYTES)]
        kv = replace(kv, head_bytes=kv.head_bytes // KV_BYTES["bf16"] * element)
    if kv_cache_memory_bytes is not None:
        return kv_cache_memory_bytes // kv.bytes_per_block(block_size, replica.tensor_parallel_size)
    return num_gpu_blocks(replica, kv, block_size)


def check_replica(replica: Replica) -> None:
    """Raises InputError for figures that no replica can have."""
    if not 0 < replica.gpu_memory_utilization <= 1:
        raise InputError(f"--gpu-memory-utilization {replica.gpu_memory_utilization}: must be above 0 and at most 1")
