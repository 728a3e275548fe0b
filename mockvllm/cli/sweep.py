"""`mockvllm sweep`: the knee in the results of a sweep, and the load to plan with."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from mockvllm.cli import console
from mockvllm.cli.console import JSON, PLOT, option, positive, print_json, print_table
from mockvllm.planning import plots
from mockvllm.planning.lesson_sweep import lesson_results
from mockvllm.planning.results import read_results
from mockvllm.planning.sweep import SLO_METRICS, Point, Promise, Sweep, read_sweep

app = console.new_app("Read a sweep of `vllm bench serve` results.")


@app.command()
def sweep(
    files: Annotated[list[Path] | None, typer.Argument(metavar="[FILES]", help="results, one a concurrency")] = None,
    slo: Annotated[str, typer.Option(metavar="NAME=MS,...", help="what is promised")] = "ttft=1000,tpot=50",
    percentile: Annotated[float, option(positive, "of the requests that the promise covers")] = 95,
    plan_share: Annotated[float, option(positive, "of the knee's load to plan with", "SHARE")] = 0.7,
    plot: PLOT = None,
    as_json: JSON = False,
) -> None:
    """Latency and throughput by concurrency, and the highest that keeps the promise. Without FILES: the lesson's."""
    promise = Promise(slo_ms=_read_slo(slo), percentile=_at_most(percentile, 100, "--percentile"))
    results = [result for path in files for result in read_results(path)] if files else lesson_results()
    read = read_sweep(results, promise, _at_most(plan_share, 1, "--plan-share"))
    if plot:
        plots.save(plots.sweep_picture(read, promise), plot)
    if as_json:
        print_json(_json(read))
    else:
        print_table(f"Promise: {slo} ms at p{percentile:g}", _columns(promise), _rows(read), _notes(read, plan_share))


def main(argv: Sequence[str]) -> int:
    return console.run(app, argv, "sweep")


def _read_slo(text: str) -> dict[str, float]:
    slo: dict[str, float] = {}
    for item in text.split(","):
        name, _, limit = item.strip().partition("=")
        if name not in SLO_METRICS or name in slo:
            raise typer.BadParameter(f"each of {', '.join(SLO_METRICS)} at most once, not {text}", param_hint="'--slo'")
        slo[name] = console.list_of(positive, limit, "--slo")[0]
    return slo


def _at_most(value: float, limit: float, flag: str) -> float:
    if value > limit:
        raise typer.BadParameter(f"must be at most {limit:g}, not {value:g}", param_hint=f"'{flag}'")
    return value


def _json(read: Sweep) -> dict[str, Any]:
    knee = read.knee
    return {
        "points": [_point_json(point) for point in read.points],
        "knee": knee and {"concurrency": knee.concurrency, "request_throughput": knee.request_throughput},
        "planned_request_throughput": read.planned_request_throughput,
    }


def _point_json(point: Point) -> dict[str, Any]:
    values = asdict(point)
    latencies: dict[str, float] = values.pop("latencies_ms")
    return values | latencies


def _columns(promise: Promise) -> list[str]:
    percentiles = [f"{metric.upper()} p{promise.percentile:g}" for metric in promise.slo_ms]
    return ["c", "req/s", "c/rate s", "W s", "tok/s", "rate x n", *percentiles, "goodput", "ok"]


def _rows(read: Sweep) -> Iterator[tuple[str, ...]]:
    for point in read.points:
        goodput = "-" if point.goodput_share is None else f"{point.goodput_share:.0%}"
        yield (
            f"{point.concurrency}",
            f"{point.request_throughput:.2f}",
            f"{point.w_little_s:.2f}",
            f"{point.w_measured_s:.2f}",
            f"{point.output_throughput:,.0f}",
            f"{point.expected_output_throughput:,.0f}",
            *(f"{value:,.1f}" for value in point.latencies_ms.values()),
            goodput,
            "knee" if point is read.knee else "ok" if point.ok else "no",
        )


def _notes(read: Sweep, plan_share: float) -> Iterator[str]:
    yield from (f"{point.source}: {mark}" for point in read.points for mark in point.marks)
    if read.knee is None or read.planned_request_throughput is None:
        yield "No knee: the lowest concurrency breaks the promise."
        return
    knee, planned = read.knee, read.planned_request_throughput
    yield f"knee: {knee.concurrency} in flight, {knee.request_throughput:.2f} requests/s"
    yield f"plan with {plan_share:.0%} of that: {planned:.2f} requests/s"
