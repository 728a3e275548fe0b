"""The roofline of a step: what the arithmetic and the memory of the GPUs allow at best.

FLOP = 2 x parameters per token. Bytes = the weights once, and the KV cache of every token that is read or written.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from mockvllm.planning import reference
from mockvllm.planning.dtypes import WEIGHT_BITS
from mockvllm.planning.gpus import GPU

Bound = Literal["compute", "memory"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """A model in a weights format on GPUs that share the work. `active_parameters`: those a token passes through."""

    gpu: GPU
    dtype: str = "fp8"
    tensor_parallel_size: int = 2
    parameters: float = reference.PARAMETERS
    active_parameters: float = reference.PARAMETERS
    kv_bytes_per_token: float = reference.KV_BYTES_PER_TOKEN

    @property
    def weights_bytes(self) -> float:
        return self.parameters * float(WEIGHT_BITS[self.dtype]) / 8

    @property
    def break_even(self) -> float:
        """FLOP per byte above which arithmetic is the limit."""
        return self.gpu.peak(self.dtype) / self.gpu.bandwidth

    def flop(self, tokens: float) -> float:
        return 2 * self.active_parameters * tokens


@dataclass(frozen=True, slots=True)
class Step:
    """`intensity` in FLOP per byte; no step takes less than `floor_ms`."""

    intensity: float
    bound: Bound
    floor_ms: float


@dataclass(frozen=True, slots=True)
class DecodeStep(Step):
    """One token for each of `batch` sequences: at most so many tokens per second, for one and for all."""

    batch: int
    tokens_per_second: float
    total_tokens_per_second: float


@dataclass(frozen=True, slots=True)
class Roofline:
    break_even: float
    prefill: Step
    decode: list[DecodeStep]


def step(machine: Machine, tokens: float, kv_tokens: float) -> Step:
    """A step that computes `tokens` and reads or writes the KV cache of `kv_tokens`."""
    flop = machine.flop(tokens)
    moved = machine.weights_bytes + kv_tokens * machine.kv_bytes_per_token
    compute_s = flop / (machine.tensor_parallel_size * machine.gpu.peak(machine.dtype))
    memory_s = moved / (machine.tensor_parallel_size * machine.gpu.bandwidth)
    return Step(flop / moved, "compute" if compute_s > memory_s else "memory", 1000 * max(compute_s, memory_s))


def roofline(machine: Machine, prompt: int, sequence_tokens: int, batches: Sequence[int]) -> Roofline:
    """A prefill of `prompt` tokens, and a decode step for each batch of sequences of `sequence_tokens`."""
    return Roofline(
        break_even=machine.break_even,
        prefill=step(machine, prompt, prompt),
        decode=[_decode(machine, batch, sequence_tokens) for batch in batches],
    )


def _decode(machine: Machine, batch: int, sequence_tokens: int) -> DecodeStep:
    limit = step(machine, batch, batch * sequence_tokens)
    each = 1000 / limit.floor_ms
    return DecodeStep(limit.intensity, limit.bound, limit.floor_ms, batch, each, batch * each)
