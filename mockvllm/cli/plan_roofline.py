"""`mockvllm plan roofline`: what arithmetic and memory allow at best."""

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from mockvllm.cli.console import JSON, PLOT, list_of, option, positive, print_json, print_table, whole
from mockvllm.planning import plots, reference
from mockvllm.planning.dtypes import WEIGHT_BITS
from mockvllm.planning.errors import InputError
from mockvllm.planning.formats import format_name
from mockvllm.planning.gpus import GPUS, find_gpu
from mockvllm.planning.hf_config import read_config
from mockvllm.planning.model import read_model
from mockvllm.planning.roofline import Machine, Roofline
from mockvllm.planning.roofline import roofline as plan_roofline


def roofline(
    parameters: Annotated[float | None, option(positive, f"of the model [{reference.PARAMETERS / 1e9}e9]")] = None,
    active_parameters: Annotated[float | None, option(positive, "that a token passes through [all]")] = None,
    kv_bytes_per_token: Annotated[float | None, option(positive, f"[{reference.KV_BYTES_PER_TOKEN}]", "BYTES")] = None,
    config: Annotated[Path | None, typer.Option(metavar="FILE", help="a config.json that says these three")] = None,
    gpu: Annotated[str, typer.Option(help=f"one of {', '.join(GPUS)}")] = "H100",
    dtype: Annotated[str, typer.Option(help=f"of the weights: {', '.join(WEIGHT_BITS)}")] = "fp8",
    tensor_parallel_size: Annotated[int, option(whole)] = 2,
    prompt: Annotated[int, option(whole, "tokens of the prefill")] = 2000,
    sequence_tokens: Annotated[int, option(whole, "of each decoding sequence")] = 2250,
    batch: Annotated[str, typer.Option(metavar="N,N", help="sequences that decode together")] = "1,40,92",
    plot: PLOT = None,
    as_json: JSON = False,
) -> None:
    """Why prefill is bound by arithmetic and decode by memory: FLOP per byte, and the floor of a step."""
    given = {"parameters": parameters, "active_parameters": active_parameters, "kv_bytes_per_token": kv_bytes_per_token}
    sizes = _sizes(config) | {name: value for name, value in given.items() if value is not None}
    machine = Machine(
        gpu=find_gpu(gpu),
        dtype=format_name(dtype, "--dtype", WEIGHT_BITS),
        tensor_parallel_size=tensor_parallel_size,
        parameters=sizes["parameters"],
        active_parameters=sizes.get("active_parameters", sizes["parameters"]),
        kv_bytes_per_token=sizes["kv_bytes_per_token"],
    )
    if machine.active_parameters > machine.parameters:
        raise InputError(f"--active-parameters {machine.active_parameters:g}: are more than the {machine.parameters:g}")
    result = plan_roofline(machine, prompt, sequence_tokens, list_of(whole, batch, "--batch"))
    if plot:
        plots.save(plots.roofline_picture(machine, result), plot)
    if as_json:
        print_json(asdict(result))
    else:
        print_table(_title(machine), COLUMNS, _rows(result, prompt), _notes(machine, result))


COLUMNS = ["step", "FLOP/B", "bound by", "at least", "tokens/s each", "in all"]


def _sizes(config: Path | None) -> dict[str, float]:
    if config is None:
        return {"parameters": reference.PARAMETERS, "kv_bytes_per_token": reference.KV_BYTES_PER_TOKEN}
    model = read_model(read_config(config))
    return {
        "parameters": model.parameters.total,
        "active_parameters": model.parameters.active,
        "kv_bytes_per_token": model.kv_cache().bytes_per_token,
    }


def _title(machine: Machine) -> str:
    size = f"{machine.parameters / 1e9:,.1f}e9 parameters in {machine.dtype}"
    return f"{size} on {machine.tensor_parallel_size} x {machine.gpu.name}"


def _notes(machine: Machine, result: Roofline) -> Iterator[str]:
    yield f"break-even: {result.break_even:,.0f} FLOP/B"
    if machine.dtype not in (*machine.gpu.flops, "fp16"):
        yield f"{machine.gpu.name} has no units for {machine.dtype}: it computes in bf16"


def _rows(result: Roofline, prompt: int) -> Iterator[tuple[str, ...]]:
    first = result.prefill
    yield f"prefill of {prompt:,} tokens", f"{first.intensity:,.0f}", first.bound, f"{first.floor_ms:,.1f} ms", "", ""
    for step in result.decode:
        rates = f"{step.tokens_per_second:,.0f}", f"{step.total_tokens_per_second:,.0f}"
        yield f"decode, batch {step.batch}", f"{step.intensity:,.1f}", step.bound, f"{step.floor_ms:,.1f} ms", *rates
