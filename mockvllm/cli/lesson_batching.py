"""`mockvllm lesson batching`: who sits where, static and continuous."""

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from mockvllm.cli.console import JSON, list_of, option, print_json, print_table, whole
from mockvllm.simulation.batching import Seating, continuous_batching, static_batching

MOST = 1_000_000  # cells of a grid
OUTPUTS = "A=3,B=8,C=2,D=5,E=4,F=3"


def batching(
    outputs: Annotated[str, typer.Option(metavar="NAME=N,...", help="tokens of each answer")] = OUTPUTS,
    seats: Annotated[int, option(whole, "requests that run at once")] = 4,
    as_json: JSON = False,
) -> None:
    """Static batching waits for the longest answer; continuous batching fills a seat as soon as it is free."""
    lengths = _read_outputs(outputs)
    if sum(lengths.values()) * seats > MOST:
        raise typer.BadParameter(f"a grid of more than {MOST:,} cells (tokens x seats) cannot be drawn")
    kinds = {"static": static_batching(lengths, seats), "continuous": continuous_batching(lengths, seats)}
    if as_json:
        print_json({name: _json(seating) for name, seating in kinds.items()})
        return
    for name, seating in kinds.items():
        _print(name, seating)


def _read_outputs(text: str) -> Mapping[str, int]:
    outputs: dict[str, int] = {}
    for item in text.split(","):
        name, _, length = item.strip().partition("=")
        if not name or name in outputs:
            raise typer.BadParameter(f"each NAME=N once, not {item.strip()!r}", param_hint="'--outputs'")
        outputs[name] = list_of(whole, length, "--outputs")[0]
    return outputs


def _json(seating: Seating) -> dict[str, Any]:
    return {
        "steps": seating.steps,
        "seat_steps": seating.seat_steps,
        "used": seating.used,
        "share": seating.share,
        "first_token": dict(seating.first_token),
        "grid": [list(row) for row in seating.grid],
    }


def _print(name: str, seating: Seating) -> None:
    columns = ["step", *(str(step) for step in range(1, seating.steps + 1))]
    rows = ((f"seat {number}", *row) for number, row in enumerate(seating.grid, 1))
    first = " ".join(f"{request}={step}" for request, step in seating.first_token.items())
    used = f"{seating.steps} steps, {seating.used} of {seating.seat_steps} seat-steps used ({seating.share:.0%})"
    print_table(name.capitalize(), columns, rows, [f"{used}; first tokens: {first}", ""])
