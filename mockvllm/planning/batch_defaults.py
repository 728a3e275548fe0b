"""vLLM's defaults of the token budget and the seats, by device and use (0.30 to 0.33, `EngineArgs`)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from mockvllm.planning.gpus import GIB

Usage = Literal["LLM", "API server", "other"]
_NOT_LARGE = ("A100", "GB10")  # as much memory as an H100, not its compute


@dataclass(frozen=True, slots=True)
class BatchDefaults:
    max_num_batched_tokens: int
    max_num_seqs: int


_LARGEST: Mapping[str, BatchDefaults] = {"LLM": BatchDefaults(16384, 1024), "API server": BatchDefaults(16384, 1024)}
_LARGE: Mapping[str, BatchDefaults] = {"LLM": BatchDefaults(16384, 1024), "API server": BatchDefaults(8192, 1024)}
_SMALL: Mapping[str, BatchDefaults] = {"LLM": BatchDefaults(8192, 256), "API server": BatchDefaults(2048, 256)}
# of each worker
_CPU: Mapping[str, BatchDefaults] = {
    "LLM": BatchDefaults(4096, 256),
    "API server": BatchDefaults(2048, 128),
}
_OTHER_USAGE = BatchDefaults(2048, 128)


def _for_device(device: str, memory_bytes: int, usage: Usage, world_size: int) -> BatchDefaults:
    if usage not in _SMALL:
        return _OTHER_USAGE
    if device.lower() == "cpu":
        worker = _CPU[usage]
        return BatchDefaults(worker.max_num_batched_tokens * world_size, worker.max_num_seqs * world_size)
    if memory_bytes >= 160 * GIB:
        return _LARGEST[usage]
    large = memory_bytes >= 70 * GIB and not any(name in device.upper() for name in _NOT_LARGE)
    return (_LARGE if large else _SMALL)[usage]


def batch_defaults(
    device: str,
    memory_bytes: int,
    max_model_len: int,
    *,
    usage: Usage = "API server",
    world_size: int = 1,
    max_num_batched_tokens: int | None = None,
    max_num_seqs: int | None = None,
    enable_chunked_prefill: bool = True,
    performance_mode: str = "balanced",
) -> BatchDefaults:
    """Both values of a server on `device` (torch's name of it, or `cpu`) with so many bytes. What is given stays."""
    default = _for_device(device, memory_bytes, usage, world_size)
    tokens, seqs = default.max_num_batched_tokens, default.max_num_seqs
    if not enable_chunked_prefill:
        tokens = max(tokens, max_model_len)
    if performance_mode == "throughput":
        tokens, seqs = 2 * tokens, 2 * seqs
    if max_num_seqs is not None:
        seqs = max_num_seqs
    tokens = min(tokens, seqs * max_model_len) if max_num_batched_tokens is None else max_num_batched_tokens
    return BatchDefaults(tokens, min(seqs, tokens) if max_num_seqs is None else seqs)
