"""What `mockvllm sweep` prints: the points of a sweep, its knee, and the load to plan with."""

from argparse import Namespace
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from mockvllm.cli.console import print_json, print_table
from mockvllm.planning import plots
from mockvllm.planning.results import Result
from mockvllm.planning.sweep import Point, Promise, Sweep, read_sweep


def report(results: Sequence[Result], args: Namespace) -> None:
    """`args`: the flags of reading. Raises InputError."""
    promise = Promise(slo_ms=args.slo, percentile=args.percentile)
    read = read_sweep(results, promise, args.plan_share)
    if args.plot:
        plots.save(plots.sweep_picture(read, promise), args.plot)
    if args.json:
        print_json(_json(read))
    else:
        print_table(_title(promise), _columns(read, promise), _rows(read), _notes(read, args.plan_share))


def _json(read: Sweep) -> dict[str, Any]:
    knee = read.knee
    return {
        "points": [_point_json(point) for point in read.points],
        "knee": knee and {read.by: read.load(knee), "request_throughput": knee.request_throughput},
        "planned_request_throughput": read.planned_request_throughput,
    }


def _point_json(point: Point) -> dict[str, Any]:
    values = asdict(point)
    latencies: dict[str, float] = values.pop("latencies_ms")
    return values | latencies


def _title(promise: Promise) -> str:
    limits = ",".join(f"{metric}={limit:g}" for metric, limit in promise.slo_ms.items())
    return f"Promise: {limits} ms at p{promise.percentile:g}"


def _columns(read: Sweep, promise: Promise) -> list[str]:
    load, little = ("c", "c/rate s") if read.by == "concurrency" else ("rate", "")
    percentiles = [f"{metric.upper()} p{promise.percentile:g}" for metric in promise.slo_ms]
    columns = [load, "req/s", little, "W s", "tok/s", "rate x n", *percentiles, "goodput", "ok"]
    return [column for column in columns if column]


def _rows(read: Sweep) -> Iterator[tuple[str, ...]]:
    for point in read.points:
        goodput = "-" if point.goodput_share is None else f"{point.goodput_share:.0%}"
        little = "-" if point.w_little_s is None else f"{point.w_little_s:.2f}"
        yield (
            f"{read.load(point):g}",
            f"{point.request_throughput:.2f}",
            *([little] if read.by == "concurrency" else []),
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
        yield "No knee: the lowest load breaks the promise."
        return
    load = f"{read.load(read.knee):g} {'in flight' if read.by == 'concurrency' else 'sent per second'}"
    yield f"knee: {load}, {read.knee.request_throughput:.2f} requests/s"
    yield f"plan with {plan_share:.0%} of that: {read.planned_request_throughput:.2f} requests/s"
