"""`mockvllm lesson chunks`: a long prompt among requests that decode."""

from dataclasses import asdict
from typing import Annotated

import typer

from mockvllm.cli.console import JSON, list_of, not_negative, option, print_json, print_table, whole, whole_or_zero
from mockvllm.simulation.chunks import chunks as cut_up

COLUMNS = ["budget", "prefill steps", "TTFT of the new one", "worst gap of the others"]


def chunks(
    budgets: Annotated[str, typer.Option(metavar="N,N", help="tokens of a step")] = "8192,2048,512",
    prompt: Annotated[int, option(whole, "tokens of the prompt that arrives")] = 6000,
    running: Annotated[int, option(whole_or_zero, "requests that decode")] = 72,
    base_ms: Annotated[float, option(not_negative, "of every step", "MS")] = 45,
    per_token_ms: Annotated[float, option(not_negative, "of each prompt token", "MS")] = 0.075,
    as_json: JSON = False,
) -> None:
    """Chunked prefill: the smaller a step's budget, the shorter the gaps of the others, and the later the new one."""
    rows = [cut_up(budget, prompt, running, base_ms, per_token_ms) for budget in list_of(whole, budgets, "--budgets")]
    if as_json:
        print_json([asdict(row) for row in rows])
        return
    print_table(
        f"A prompt of {prompt:,} tokens among {running} that decode",
        COLUMNS,
        (
            (f"{row.budget:,}", f"{row.prefill_steps}", f"{row.ttft_ms:,.0f} ms", f"{row.worst_gap_ms:,.0f} ms")
            for row in rows
        ),
        [f"Without the prompt a step takes {base_ms:g} ms."],
    )
