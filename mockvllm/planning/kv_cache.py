"""The KV cache as vLLM 0.30 to 0.33 lay it out (`v1/core/kv_cache_utils.py`): groups of layers, blocks, capacity.

A block holds `block_size` tokens of one group of layers. A model whose layers are all alike is one group; one that
mixes full and sliding-window attention is cut into groups of equally many layers, and a request takes blocks for each.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mockvllm.planning.errors import InputError

if TYPE_CHECKING:  # a server counts blocks without reading configs
    from mockvllm.planning.shape import Shape


def ceil_div(a: int, b: int) -> int:
    return -(-a // b)


@dataclass(frozen=True, slots=True)
class KVCache:
    """`head_bytes`: what one KV head of one layer keeps of a token. `window` in tokens, for the sliding layers."""

    layers: int
    kv_heads: int
    head_bytes: int
    sliding_layers: int = 0
    window: int = 0

    @property
    def bytes_per_token(self) -> int:
        """Of the whole model, while the token is within every window."""
        return self.layers * self.kv_heads * self.head_bytes

    def copies(self, tensor_parallel_size: int) -> int:
        """How often each head is kept: GPUs beyond the number of KV heads hold replicas."""
        return max(1, tensor_parallel_size // self.kv_heads)

    def sequence_bytes(self, tokens: int) -> int:
        """One sequence; sliding layers keep the last `window` tokens."""
        layer = self.kv_heads * self.head_bytes
        full = self.layers - self.sliding_layers
        return layer * (full * tokens + self.sliding_layers * min(tokens, self.window))

    def group_layers(self) -> int:
        """Layers in a group: of the rarer kind, or of the commoner when that is less than half more."""
        kinds = sorted(n for n in (self.sliding_layers, self.layers - self.sliding_layers) if n)
        return kinds[-1] if kinds[-1] < 1.5 * kinds[0] else kinds[0]

    def bytes_per_block(self, block_size: int, tensor_parallel_size: int = 1, pipeline_parallel_size: int = 1) -> int:
        """On one GPU, of the pipeline stage that has most layers (the one that runs out first)."""
        heads = max(1, self.kv_heads // tensor_parallel_size)
        return ceil_div(self.group_layers(), pipeline_parallel_size) * block_size * heads * self.head_bytes

    def blocks_per_request(self, max_model_len: int, block_size: int, max_num_batched_tokens: int) -> int:
        """Blocks that the longest request takes. A sliding layer keeps its window and the tokens of one step."""
        group = self.group_layers()
        full = ceil_div(self.layers - self.sliding_layers, group) * ceil_div(max_model_len, block_size)
        if not self.sliding_layers:
            return full
        tokens = min(self.window - 1 + max_num_batched_tokens, max_model_len)
        return full + ceil_div(self.sliding_layers, group) * (ceil_div(tokens, block_size) + 1)


def kv_cache(shape: "Shape", element_bytes: int) -> KVCache:
    """The KV cache of a model whose keys and values take `element_bytes` each."""
    if shape.latent:  # one compressed vector a layer, whatever the number of heads
        return KVCache(shape.layers, 1, (shape.latent.kv_rank + shape.latent.rope) * element_bytes)
    head_bytes = 2 * shape.head_dim * element_bytes
    return KVCache(shape.layers, shape.kv_heads, head_bytes, shape.sliding_layers, shape.window)


@dataclass(frozen=True, slots=True)
class Capacity:
    """What vLLM says of its KV cache at start-up. `max_concurrency`: requests of `max_model_len` tokens at a time."""

    num_gpu_blocks: int
    max_model_len: int
    max_concurrency: float

    @property
    def kv_cache_tokens(self) -> int:
        return int(self.max_concurrency * self.max_model_len)

    def log_line(self, device: str = "GPU") -> str:
        return (
            f"{device} KV cache size: {self.kv_cache_tokens:,} tokens, "
            f"Maximum concurrency for {self.max_model_len:,} tokens per request: {self.max_concurrency:.2f}x"
        )


def capacity(
    num_gpu_blocks: int, max_model_len: int, block_size: int, blocks_per_request: int | None = None
) -> Capacity:
    """The capacity of so many blocks. `blocks_per_request`: as `KVCache` gives it; by default of full attention."""
    per_request = blocks_per_request or ceil_div(max_model_len, block_size)
    return Capacity(num_gpu_blocks, max_model_len, num_gpu_blocks / per_request)


def override_line(num_gpu_blocks: int, num_gpu_blocks_override: int) -> str:
    """Logged by each worker under `--num-gpu-blocks-override`."""
    return f"Overriding num_gpu_blocks={num_gpu_blocks} with num_gpu_blocks_override={num_gpu_blocks_override}"


def check_tensor_parallel(heads: int, kv_heads: int, tensor_parallel_size: int) -> None:
    """vLLM's conditions: heads are divided evenly, KV heads evenly or copied evenly. Raises InputError."""
    if heads % tensor_parallel_size:
        raise InputError(f"--tensor-parallel-size {tensor_parallel_size}: does not divide the {heads} attention heads")
    if kv_heads % tensor_parallel_size and tensor_parallel_size % kv_heads:
        raise InputError(f"--tensor-parallel-size {tensor_parallel_size}: does not fit {kv_heads} KV heads")
