"""Reading a sweep: result files of `vllm bench serve --save-result`, one for each concurrency, and the knee in them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise, takewhile

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
    """One concurrency: seconds in the system by Little's law (concurrency / rate) beside the measured mean, output
    tokens per second beside rate x mean output length. `latencies_ms` by the tool's keys; `marks`: what is odd.
    """

    source: str
    concurrency: int
    request_throughput: float
    w_little_s: float
    w_measured_s: float
    output_throughput: float
    expected_output_throughput: float
    latencies_ms: Mapping[str, float]
    goodput_share: float | None
    ok: bool
    marks: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """`knee`: the highest point that keeps the promise, with every lower one keeping it; None if the first does not."""

    points: list[Point]
    knee: Point | None
    planned_request_throughput: float | None


def read_sweep(results: Sequence[Result], promise: Promise, plan_share: float = 0.7) -> Sweep:
    """The points by concurrency, the knee, and the load to plan with: `plan_share` of the knee's.

    Raises InputError for results without the fields that this takes, and for two of the same concurrency.
    """
    points = sorted((_point(result, promise) for result in results), key=lambda point: point.concurrency)
    for one, other in pairwise(points):
        if one.concurrency == other.concurrency:
            raise InputError(f"{one.source} and {other.source}: both are of concurrency {one.concurrency}")
    good = list(takewhile(lambda point: point.ok, points))
    knee = good[-1] if good else None
    planned = plan_share * knee.request_throughput if knee else None
    return Sweep(points=points, knee=knee, planned_request_throughput=planned)


def _point(result: Result, promise: Promise) -> Point:
    latencies = result.percentiles(promise.keys)
    rate = result.positive("request_throughput")
    concurrency = result.concurrency()
    output_tokens = result.positive("total_output_tokens") / result.positive("completed")
    measured = (result.positive("mean_ttft_ms") + (output_tokens - 1) * result.number("mean_tpot_ms")) / 1000
    little, throughput, expected = concurrency / rate, result.positive("output_throughput"), rate * output_tokens
    return Point(
        source=result.source,
        concurrency=concurrency,
        request_throughput=rate,
        w_little_s=little,
        w_measured_s=measured,
        output_throughput=throughput,
        expected_output_throughput=expected,
        latencies_ms=latencies,
        goodput_share=result.goodput() / rate if result.has("request_goodput") else None,
        ok=all(latencies[promise.key(metric)] <= limit for metric, limit in promise.slo_ms.items()),
        marks=[*_mark("Little", little, measured), *_mark("throughput", throughput, expected), *_failures(result)],
    )


def _mark(name: str, one: float, other: float) -> list[str]:
    off = round(one / other - 1, 9)  # exactly the tolerance is within it
    return [f"{name} is off by {off:+.0%}"] if abs(off) > TOLERANCE else []


def _failures(result: Result) -> list[str]:
    failed = result.number("failed", default=0)
    return [f"{failed:.0f} requests failed"] if failed else []
