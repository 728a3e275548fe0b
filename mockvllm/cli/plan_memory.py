"""`mockvllm plan memory`: from a config.json to blocks, sequences and users."""

import math
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from mockvllm.cli.console import (
    JSON,
    PLOT,
    not_negative,
    option,
    positive,
    print_json,
    print_table,
    whole,
    whole_or_zero,
)
from mockvllm.planning import dtypes, plots, reference
from mockvllm.planning.errors import InputError
from mockvllm.planning.gpus import GPUS, find_gpu
from mockvllm.planning.hf_config import read_config
from mockvllm.planning.kv_cache import KVCache, check_tensor_parallel
from mockvllm.planning.memory import Replica
from mockvllm.planning.memory_plan import Limits, Load, MemoryPlan, plan_memory
from mockvllm.planning.model import Model, read_model, reference_model

REPLICA, LIMITS, LOAD = Replica(), Limits(), Load()


def memory(
    config: Annotated[Path | None, typer.Argument(metavar="[CONFIG]", help="a Hugging Face config.json")] = None,
    dtype: Annotated[str, typer.Option(help="of the weights: fp8, int4, ..., or a mix: bf16,experts=mxfp4")] = "",
    kv_dtype: Annotated[str, typer.Option(help="of the KV cache: auto, bf16, fp8")] = "auto",
    gpu: Annotated[str, typer.Option(help=f"one of {', '.join(GPUS)}")] = "",
    gpu_bytes: Annotated[int | None, option(whole, "memory of one GPU, if no --gpu is named [80e9]", "BYTES")] = None,
    tensor_parallel_size: Annotated[int | None, option(whole, "[2, or 1 where the heads cannot be halved]")] = None,
    pipeline_parallel_size: Annotated[int, option(whole)] = REPLICA.pipeline_parallel_size,
    gpu_memory_utilization: Annotated[float, option(positive, metavar="SHARE")] = REPLICA.gpu_memory_utilization,
    overhead_bytes: Annotated[int, option(whole_or_zero, "on all GPUs together", "BYTES")] = REPLICA.overhead_bytes,
    weights_bytes: Annotated[int | None, option(whole, "instead of counting them", "BYTES")] = None,
    block_size: Annotated[int, option(whole)] = LIMITS.block_size,
    max_model_len: Annotated[int, option(whole)] = LIMITS.max_model_len,
    max_num_batched_tokens: Annotated[int, option(whole, "for sliding windows")] = LIMITS.max_num_batched_tokens,
    sequence_tokens: Annotated[int, option(whole, "of one sequence")] = LOAD.sequence_tokens,
    output_tokens: Annotated[int, option(whole, "of them, answered")] = LOAD.output_tokens,
    ttft_ms: Annotated[float, option(not_negative, metavar="MS")] = 1000 * LOAD.ttft_s,
    itl_ms: Annotated[float, option(not_negative, metavar="MS")] = 1000 * LOAD.itl_s,
    rate: Annotated[float, option(positive, "requests per second, of all replicas")] = LOAD.rate,
    replicas: Annotated[int, option(whole)] = LOAD.replicas,
    assume_architecture: Annotated[str, typer.Option(help="count an unknown architecture as this model type")] = "",
    plot: PLOT = None,
    as_json: JSON = False,
) -> None:
    """Parameters, weights, KV cache; how many sequences and users fit. Without CONFIG: Llama 3.3 70B in FP8."""
    model = read_model(read_config(config), assume_architecture) if config else reference_model()
    kv = model.kv_cache(kv_dtype)
    parts = dtypes.bytes_by_part(model.parameters, _weights_dtype(model, dtype, config))
    counted = math.ceil(sum(parts.values())) if config or dtype else reference.WEIGHTS_BYTES
    replica = Replica(
        weights_bytes=weights_bytes or counted,
        gpu_memory_bytes=_gpu_bytes(gpu, gpu_bytes),
        gpu_memory_utilization=gpu_memory_utilization,
        tensor_parallel_size=tensor_parallel_size or _tensor_parallel_size(model, kv),
        pipeline_parallel_size=pipeline_parallel_size,
        overhead_bytes=overhead_bytes,
    )
    limits = Limits(block_size=block_size, max_model_len=max_model_len, max_num_batched_tokens=max_num_batched_tokens)
    load = Load(
        sequence_tokens=sequence_tokens,
        output_tokens=output_tokens,
        ttft_s=ttft_ms / 1000,
        itl_s=itl_ms / 1000,
        rate=rate,
        replicas=replicas,
    )
    plan = plan_memory(model, kv, replica, limits, load)
    if plot:
        plots.save(plots.memory_picture(parts, replica), plot)
    if as_json:
        print_json(asdict(plan))
    else:
        print_table("Memory", ["figure", "value"], _rows(plan, replica, load), _notes(plan))


def _weights_dtype(model: Model, dtype: str, config: Path | None) -> dtypes.WeightsDtype:
    """The flag's, or what the config says; the reference model comes in FP8."""
    return dtypes.parse_weights_dtype(dtype or "fp8") if dtype or not config else model.dtype


def _tensor_parallel_size(model: Model, kv: KVCache) -> int:
    """The reference replica's, or 1 for a model whose heads cannot be divided so."""
    try:
        check_tensor_parallel(model.shape.heads, kv.kv_heads, REPLICA.tensor_parallel_size)
    except InputError:
        return 1
    return REPLICA.tensor_parallel_size


def _gpu_bytes(gpu: str, gpu_bytes: int | None) -> int:
    if gpu and gpu_bytes:
        raise InputError(f"--gpu {gpu} and --gpu-bytes {gpu_bytes}: give one of them")
    return find_gpu(gpu).memory_bytes if gpu else gpu_bytes or REPLICA.gpu_memory_bytes


def _rows(plan: MemoryPlan, replica: Replica, load: Load) -> Iterator[tuple[str, str]]:
    yield "parameters", f"{plan.parameters:,}"
    if plan.active_parameters != plan.parameters:
        yield "  of which a token uses", f"{plan.active_parameters:,}"
    yield "weights", _gb(plan.weights_bytes)
    yield "KV cache per token", f"{plan.kv_bytes_per_token:,} B = {plan.kv_bytes_per_token / 1024:,.1f} KiB"
    yield f"room for KV cache on {replica.gpus} GPU(s)", _gb(plan.kv_room_bytes)
    yield "blocks on each GPU", f"{plan.num_gpu_blocks:,}"
    yield f"a sequence of {load.sequence_tokens:,} tokens", _gb(plan.sequence_bytes)
    yield "sequences that fit", f"{plan.sequences:,}"
    yield "a request, end to end", f"{plan.e2e_s:.2f} s"
    yield f"alive at {load.rate:g} requests/s", f"{plan.alive:,.0f}"
    yield f"  on each of {load.replicas} replica(s)", f"{plan.alive_per_replica:,.1f}"


def _notes(plan: MemoryPlan) -> Iterator[str]:
    if plan.num_gpu_blocks:
        yield plan.log_line
    if not plan.fits:
        yield "It does not fit: vLLM would not start."
    yield from (f"assumed: {text}" for text in plan.assumed)


def _gb(count: int) -> str:
    return f"{count / 1e9:,.3f} GB"
