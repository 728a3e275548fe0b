"""Reading a sweep: result files of `vllm bench serve --save-result`, one for each load, and the knee in them."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise, takewhile
from typing import Literal

from mockvllm.planning.errors import InputError
from mockvllm.planning.results import Result

SLO_METRICS = ("ttft", "tpot", "itl", "e2el")
TOLERANCE = 0.10  # Little's law and the throughput are means: further off, something in the run was not steady


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """Service level objectives: milliseconds by metric, for the `percentile` of requests."""

    slo_ms: Mapping[str, float] = field(default_factory=lambda: {"ttft": 1000.0, "tpot": 50.0})
    percentile: float = 95

    def key(self, metric: str) -> str:
        """`p95_ttft_ms`, as the tool writes it."""
        return f"p{self.percentile:g}_{metric}_ms"

    @property
    def keys(self) -> list[str]:
        return [self.key(metric) for metric in self.slo_ms]


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One load: `concurrency` requests in flight (a closed loop), or `request_rate` sent per second (an open one).

    Seconds in the system by Little's law (concurrency / rate, of a closed loop) beside the measured mean, output
    tokens per second beside rate x mean output length. `latencies_ms` by the tool's keys; `marks`: what is odd.
    """

    source: str
    concurrency: int | None
    request_rate: float | None
    request_throughput: float
    w_little_s: float | None
    w_measured_s: float
    output_throughput: float
    expected_output_throughput: float
    latencies_ms: Mapping[str, float]
    goodput_share: float | None
    ok: bool
    marks: list[str]

    @property
    def load(self) -> tuple[float, float]:
        return self.request_rate or math.inf, self.concurrency or math.inf


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """`knee`: the highest point that keeps the promise, with every lower one keeping it; None if the first does not.
    `by`: what differs from point to point."""

    by: Literal["concurrency", "request_rate"]
    points: list[Point]
    knee: Point | None
    planned_request_throughput: float | None

    def load(self, point: Point) -> float:
        value: float = getattr(point, self.by)
        return value


def read_sweep(results: Sequence[Result], promise: Promise, plan_share: float = 0.7) -> Sweep:
    """The points by load, the knee, and the load to plan with: `plan_share` of the knee's.

    Raises InputError for results without the fields that this takes, for two of the same load, and where both
    concurrency and rate differ: such loads have no order.
    """
    points = sorted((_point(result, promise) for result in results), key=lambda point: point.load)
    by = _by(points)
    for one, other in pairwise(points):
        if one.load == other.load:
            raise InputError(f"{one.source} and {other.source}: both are of {by} {getattr(one, by):g}")
    good = list(takewhile(lambda point: point.ok, points))
    knee = good[-1] if good else None
    planned = plan_share * knee.request_throughput if knee else None
    return Sweep(by=by, points=points, knee=knee, planned_request_throughput=planned)


def _by(points: Sequence[Point]) -> Literal["concurrency", "request_rate"]:
    rates, limits = ({point.load[index] for point in points} for index in (0, 1))
    if len(rates) > 1 and (len(limits) > 1 or math.inf in rates):
        raise InputError(
            f"{points[0].source} and {points[-1].source}: a sweep varies max_concurrency or request_rate, not both"
        )
    return "concurrency" if len(limits) > 1 or math.inf in rates else "request_rate"


def _point(result: Result, promise: Promise) -> Point:
    latencies = result.percentiles(promise.keys)
    rate = result.positive("request_throughput")
    concurrency = result.concurrency()
    output_tokens = result.positive("total_output_tokens") / result.positive("completed")
    measured = (result.number("mean_ttft_ms") + (output_tokens - 1) * result.number("mean_tpot_ms")) / 1000
    if measured <= 0:
        raise InputError(f"{result.source}: by mean_ttft_ms and mean_tpot_ms a request takes no time")
    throughput, expected = result.positive("output_throughput"), rate * output_tokens
    asked = result.request_rate()
    little = concurrency / rate if concurrency and asked is None else None
    return Point(
        source=result.source,
        concurrency=concurrency,
        request_rate=asked,
        request_throughput=rate,
        w_little_s=little,
        w_measured_s=measured,
        output_throughput=throughput,
        expected_output_throughput=expected,
        latencies_ms=latencies,
        goodput_share=result.goodput() / rate if result.has("request_goodput") else None,
        ok=all(latencies[promise.key(metric)] <= limit for metric, limit in promise.slo_ms.items()),
        marks=[
            *_mark("Little", little, measured),
            *_mark("throughput", throughput, expected),
            *_mark("the rate", asked and rate, asked),
            *_failures(result),
        ],
    )


def _mark(name: str, one: float | None, other: float | None) -> list[str]:
    if one is None or other is None:
        return []
    off = round(one / other - 1, 9)  # exactly the tolerance is within it
    return [f"{name} is off by {off:+.0%}"] if abs(off) > TOLERANCE else []


def _failures(result: Result) -> list[str]:
    failed = result.number("failed", default=0)
    return [f"{failed:.0f} requests failed"] if failed else []
