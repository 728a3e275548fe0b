"""`plan memory`: from a model and a replica to blocks, sequences and users."""

from dataclasses import dataclass, field

from mockvllm.planning.kv_cache import KVCache, capacity, check_tensor_parallel
from mockvllm.planning.memory import Replica, check_replica, num_gpu_blocks
from mockvllm.planning.model import Model


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What is asked of the replicas: sequences of one length at a rate (per second, all replicas together)."""

    sequence_tokens: int = 2250
    output_tokens: int = 250
    ttft_s: float = 0.5
    itl_s: float = 0.040
    rate: float = 60.0
    replicas: int = 16

    @property
    def e2e_s(self) -> float:
        """The first token, then one gap for each further one."""
        return self.ttft_s + (self.output_tokens - 1) * self.itl_s

    @property
    def alive(self) -> float:
        """Little's law, with the time rounded to a tenth of a second."""
        return self.rate * round(self.e2e_s, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """vLLM's flags that shape the blocks, under its names."""

    block_size: int = 16
    max_model_len: int = 8192
    max_num_batched_tokens: int = 8192


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryPlan:
    """The fields are the JSON keys. Bytes; `num_gpu_blocks` is of each GPU, `kv_room_bytes` of all together."""

    parameters: int
    active_parameters: int
    weights_bytes: int
    kv_bytes_per_token: int
    kv_room_bytes: int
    fits: bool
    num_gpu_blocks: int
    kv_cache_tokens: int
    max_concurrency: float
    log_line: str
    sequence_bytes: int
    sequences: int
    e2e_s: float
    alive: float
    alive_per_replica: float
    assumed: list[str] = field(default_factory=list)


def plan_memory(model: Model, kv: KVCache, replica: Replica, limits: Limits, load: Load) -> MemoryPlan:
    """Every figure of `plan memory`. Raises InputError for parallelism that vLLM refuses."""
    check_replica(replica)
    check_tensor_parallel(model.shape.heads, kv.kv_heads, replica.tensor_parallel_size)
    blocks = num_gpu_blocks(replica, kv, limits.block_size)
    per_request = kv.blocks_per_request(limits.max_model_len, limits.block_size, limits.max_num_batched_tokens)
    room = capacity(blocks, limits.max_model_len, limits.block_size, per_request)
    sequence = kv.sequence_bytes(load.sequence_tokens)
    return MemoryPlan(
        parameters=model.parameters.total,
        active_parameters=model.parameters.active,
        weights_bytes=replica.weights_bytes,
        kv_bytes_per_token=kv.bytes_per_token,
        kv_room_bytes=replica.kv_room_bytes,
        fits=blocks > per_request,  # one block is reserved
        num_gpu_blocks=blocks,
        kv_cache_tokens=room.kv_cache_tokens,
        max_concurrency=room.max_concurrency,
        log_line=room.log_line(),
        sequence_bytes=sequence,
        sequences=max(0, replica.kv_room_bytes // (sequence * kv.copies(replica.tensor_parallel_size))),
        e2e_s=load.e2e_s,
        alive=load.alive,
        alive_per_replica=load.alive / load.replicas,
        assumed=[*model.assumed, *_assumptions(kv, replica)],
    )


def _assumptions(kv: KVCache, replica: Replica) -> list[str]:
    texts = []
    if replica.pipeline_parallel_size > 1:
        texts.append(f"the weights lie evenly on the {replica.gpus} GPUs, the layers as evenly as can be")
    if kv.copies(replica.tensor_parallel_size) > 1:
        copies = kv.copies(replica.tensor_parallel_size)
        texts.append(
            f"each KV head is kept {copies} times: there are {kv.kv_heads} for {replica.tensor_parallel_size} GPUs"
        )
    return texts
