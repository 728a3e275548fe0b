"""The KV cache must hold the longest request (vLLM's `check_enough_kv_cache_memory`)."""

from mockvllm.settings.derive import Derived
from mockvllm.settings.errors import SettingsError

GIB = 2**30


def check_kv_room(derived: Derived, num_gpu_blocks: int, tensor_parallel_size: int = 1) -> None:
    """Raises SettingsError, in vLLM's words, unless `max_model_len` tokens fit into the blocks but one.

    Sizes in the text are those of the reference model on one of its GPUs.
    """
    needed = -(-derived.max_model_len // derived.block_size)
    usable = max(0, num_gpu_blocks - 1)
    if needed <= usable:
        return
    from mockvllm.planning.memory import REFERENCE_KV  # only the error needs it

    block = REFERENCE_KV.bytes_per_block(derived.block_size, tensor_parallel_size) / GIB
    raise SettingsError(
        f"To serve at least one request with the model's max seq len ({derived.max_model_len}), "
        f"({_gib(derived.max_model_len / derived.block_size * block)} GiB KV cache is needed, which is larger than the "
        f"available KV cache memory ({_gib(usable * block)} GiB). Based on the available memory, the estimated maximum "
        f"model length is {usable * derived.block_size}. Try increasing `gpu_memory_utilization` or decreasing "
        "`max_model_len` when initializing the engine."
    )


def _gib(size: float) -> str:
    return f"{size:.2f}".rstrip("0").rstrip(".")
