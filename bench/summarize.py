"""Medians of bench.py's results as Markdown: python bench/summarize.py bench/out/results.jsonl

Ratios are to `cfloor`; quote figures and ratios of one interleaved run only.
"""

import json
import statistics
import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

Row = dict[str, Any]
Column = tuple[str, Callable[[Row], float | None], str]


def at(*path: str) -> Callable[[Row], float | None]:
    def value(row: Row) -> float | None:
        found: Any = row
        for key in path:
            found = found.get(key, {}) if isinstance(found, dict) else {}
        return found if isinstance(found, int | float) and found >= 0 else None

    return value


WHOLE: Sequence[Column] = (
    ("requests/s", at("req_s"), "{:.0f}"),
    ("CPU us/request", at("cpu_us_per_req"), "{:.0f}"),
    ("p50 ms", at("latency_ms", "p50"), "{:.2f}"),
    ("p99 ms", at("latency_ms", "p99"), "{:.2f}"),
)
FLAT_OUT: Sequence[Column] = (
    ("tokens/s", at("tok_s"), "{:.0f}"),
    ("CPU us/token", at("cpu_us_per_tok"), "{:.2f}"),
    ("TTFT p50 ms", at("ttft_ms", "p50"), "{:.1f}"),
    ("KiB/stream", at("rss_kb_per_conn"), "{:.1f}"),
)
PACED: Sequence[Column] = (
    ("tokens/s", at("tok_s"), "{:.0f}"),
    ("CPU us/token", at("cpu_us_per_tok"), "{:.1f}"),
    ("ITL error p50 ms", at("itl_err_ms", "p50"), "{:.2f}"),
    ("p99", at("itl_err_ms", "p99"), "{:.2f}"),
    ("lag p99 ms", at("lag_ms", "p99"), "{:.2f}"),
    ("TTFT p99 ms", at("ttft_ms", "p99"), "{:.1f}"),
    ("KiB/stream", at("rss_kb_per_conn"), "{:.1f}"),
)


def columns(run: str) -> Sequence[Column]:
    return WHOLE if run[0] in "nl" else FLAT_OUT if run[0] == "z" else PACED


def median(rows: Sequence[Row], value: Callable[[Row], float | None]) -> float | None:
    values = [found for row in rows if (found := value(row)) is not None]
    return statistics.median(values) if values else None


def cell(figure: float | None, floor: float | None, form: str) -> str:
    if figure is None:
        return "-"
    return form.format(figure) + (f" ({figure / floor:.2f})" if floor else "")


def main(paths: Sequence[str]) -> None:
    groups: dict[str, dict[str, list[Row]]] = defaultdict(lambda: defaultdict(list))
    startups: dict[str, list[float]] = defaultdict(list)
    for path in paths:
        with Path(path).open() as lines:
            for row in map(json.loads, lines):
                groups[row["run"]][row["server"]].append(row)
                startups[row["server"]].append(row["startup_s"])
    for run, servers in groups.items():
        heads = columns(run)
        print(f"\n### {run}\n\n| server | {' | '.join(name for name, _, _ in heads)} | errors | runs |")
        print("|---|" + "--:|" * (len(heads) + 2))
        for server, rows in servers.items():
            floors = [median(servers.get("cfloor", []), value) for _, value, _ in heads]
            cells = [
                cell(median(rows, value), floor, form) for (_, value, form), floor in zip(heads, floors, strict=True)
            ]
            print(f"| {server} | {' | '.join(cells)} | {sum(row['errors'] for row in rows)} | {len(rows)} |")
    print("\nStart-up, median s: " + ", ".join(f"{name} {statistics.median(s):.2f}" for name, s in startups.items()))


if __name__ == "__main__":
    main(sys.argv[1:])
