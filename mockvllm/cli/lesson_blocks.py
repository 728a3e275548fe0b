"""`mockvllm lesson blocks`: when the KV cache is full, by the textbook and by vLLM."""

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Any

import typer

from mockvllm.cli.console import JSON, list_of, option, print_json, print_table, whole, whole_or_zero
from mockvllm.simulation.lesson_blocks import REFERENCE, Case, compare

COLUMNS = ["load", "scheduler", "preemptions", "chat", "batch", "recomputed", "steps", "peak running"]
SCHEDULERS = {
    "textbook": "textbook",
    "textbook_total_sent": "textbook, {total} sent",
    "vllm": "vLLM, {total} sent",
}


class Policy(StrEnum):
    FCFS = "fcfs"
    PRIORITY = "priority"


class KVDtype(StrEnum):
    BF16 = "bf16"
    FP8 = "fp8"


def blocks(
    in_flight: Annotated[str | None, typer.Option(metavar="N,N", help="requests alive")] = None,
    prompt: Annotated[int | None, option(whole, "tokens of a prompt")] = None,
    output: Annotated[int | None, option(whole, "tokens of an answer")] = None,
    total: Annotated[int | None, option(whole, "requests to be done")] = None,
    max_num_seqs: Annotated[int | None, option(whole, "requests that run at once")] = None,
    batch: Annotated[int | None, option(whole_or_zero, "of those in flight, with the lower priority")] = None,
    policy: Annotated[Policy | None, typer.Option(help="who is evicted")] = None,
    kv_dtype: Annotated[KVDtype | None, typer.Option(help="of the KV cache")] = None,
    blocks: Annotated[int | None, option(whole, "KV blocks; without it the reference replica's")] = None,
    as_json: JSON = False,
) -> None:
    """Preemption under a closed loop: the textbook rule beside vLLM's scheduler. With flags: that case alone."""
    given = {
        "prompt": prompt,
        "output": output,
        "total": total,
        "max_num_seqs": max_num_seqs,
        "batch": batch,
        "policy": policy and policy.value,
        "kv_dtype": kv_dtype and kv_dtype.value,
        "blocks": blocks,
    }
    cases = _cases(in_flight, {name: value for name, value in given.items() if value is not None})
    rows = [compare(case) for case in cases]
    if as_json:
        print_json(rows)
    else:
        print_table("KV blocks and preemption", COLUMNS, _rows(rows, cases), _notes(cases[0]))


def _cases(in_flight: str | None, given: Mapping[str, Any]) -> Sequence[Case]:
    if in_flight is None:
        return [Case(**given)] if given else REFERENCE
    return [Case(in_flight=number, **given) for number in list_of(whole, in_flight, "--in-flight")]


def _rows(rows: Sequence[Mapping[str, Any]], cases: Sequence[Case]) -> Iterator[tuple[str, ...]]:
    for row, case in zip(rows, cases, strict=True):
        load = f"{case.in_flight}, {case.policy}, {case.kv_dtype}" + (f", {case.batch} batch" if case.batch else "")
        for key, name in SCHEDULERS.items():
            figures = row[key]
            counts = (figures["preemptions"], *figures["preemptions_by_class"].values(), figures["recomputed_tokens"])
            shown = (f"{count:,}" for count in (*counts, figures["steps"], figures["peak_running"]))
            yield load, name.format(total=f"{case.total:,}"), *shown
            load = ""


def _notes(case: Case) -> Iterator[str]:
    tokens = case.prompt + case.output
    held = -(-tokens // 16)
    fit = case.num_blocks // held
    yield f"A sequence of {tokens:,} tokens fills {held} blocks of 16: {fit} fit into {case.num_blocks:,}."
    yield f"With room for 8,192 tokens kept for each (512 blocks) it would be {case.num_blocks // 512}."
