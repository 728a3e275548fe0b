"""`mockvllm plan jerks`: what TPOT hides and ITL shows."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Annotated

import typer

from mockvllm.cli.console import JSON, list_of, option, positive, print_json, print_table, whole, whole_or_zero
from mockvllm.planning.jerks import Jerks
from mockvllm.planning.jerks import jerks as draw_jerks

COLUMNS = ["big steps", "TPOT p50", "p95", "", "ITL p50", "p95", "p99"]


def jerks(
    share: Annotated[str, typer.Option(metavar="SHARE,SHARE", help="of the gaps, with a big prefill")] = "0.02,0.06",
    requests: Annotated[int, option(whole)] = 100,
    gaps: Annotated[int, option(whole, "of each request")] = 249,
    seed: Annotated[int, option(whole_or_zero)] = 7,
    slo_ms: Annotated[float, option(positive, "TPOT p95 that is promised", "MS")] = 50,
    as_json: JSON = False,
) -> None:
    """TPOT is a mean per request and hides jerks; ITL pools all gaps and shows them."""
    rows = [draw_jerks(value, requests, gaps, seed) for value in list_of(read_share, share, "--share")]
    if as_json:
        print_json([asdict(row) for row in rows])
    else:
        print_table("Milliseconds", COLUMNS, _rows(rows, slo_ms))


def read_share(text: str) -> float:
    """0.02 and 2% are the same."""
    number = text.removesuffix("%").strip()
    try:
        value = float(number) / (100 if text.endswith("%") else 1)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise typer.BadParameter(f"must be a share from 0 to 1, not {text}")
    return value


def _rows(rows: Sequence[Jerks], slo_ms: float) -> Iterator[tuple[str, ...]]:
    for row in rows:
        verdict = f"{'meets' if row.tpot_p95_ms <= slo_ms else 'misses'} {slo_ms:g}"
        itl = (row.itl_p50_ms, row.itl_p95_ms, row.itl_p99_ms)
        yield (
            f"{row.share:.1%}",
            f"{row.tpot_p50_ms:.1f}",
            f"{row.tpot_p95_ms:.1f}",
            verdict,
            *(f"{x:.1f}" for x in itl),
        )
