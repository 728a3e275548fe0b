"""The formulas of `vllm bench serve` (0.33.0), over records of requests. Pure: times in, figures out.

Times are seconds on any one clock; figures named `..._ms` are milliseconds. Only successful requests count, unless said
otherwise. Percentiles interpolate linearly, the standard deviation is the population's, and the statistics of nothing
are 0: as numpy and vLLM have it.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, chain
from typing import Any

MS = 1000.0
GOODPUT_METRICS = ("ttft", "tpot", "e2el")


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One request as its client saw it.

    `start` is just before the request was sent, `ttft` and `latency` are counted from it (to the first and the last
    token event), `itl` holds the gaps between token events, `arrival` is when the request wanted to be sent (`start` if
    nothing held it back).
    """

    start: float
    ttft: float
    latency: float
    output_tokens: int
    itl: Sequence[float] = ()
    prompt_tokens: int = 0
    arrival: float | None = None
    success: bool = True

    @property
    def tpot(self) -> float | None:
        """Seconds per output token after the first; None for a single token, which has no such time."""
        return (self.latency - self.ttft) / (self.output_tokens - 1) if self.output_tokens > 1 else None

    @property
    def queue_time(self) -> float:
        """Seconds that the client itself held the request back."""
        return 0.0 if self.arrival is None else self.start - self.arrival

    @property
    def tokens_per_s(self) -> float:
        """Output tokens per second of the whole request, waiting for the first token included."""
        return self.output_tokens / self.latency if self.latency > 0 else 0.0


@dataclass(frozen=True, slots=True)
class Distribution:
    """Statistics of one metric, in the unit of its values; `percentiles` by their number (50, 99, 99.9)."""

    mean: float = 0.0
    median: float = 0.0
    std: float = 0.0
    percentiles: Mapping[float, float] = field(default_factory=dict)

    @classmethod
    def of(cls, values: Iterable[float], percentiles: Sequence[float] = ()) -> "Distribution":
        ordered = sorted(values)
        if not ordered:
            return cls(percentiles=dict.fromkeys(percentiles, 0.0))
        mean = math.fsum(ordered) / len(ordered)
        std = math.sqrt(math.fsum((value - mean) ** 2 for value in ordered) / len(ordered))
        return cls(mean, quantile(ordered, 0.5), std, {p: quantile(ordered, p / 100) for p in percentiles})


def quantile(ordered: Sequence[float], share: float) -> float:
    """The value below which `share` (0 to 1) of the ascending values lie, interpolated linearly; 0 of nothing."""
    if not ordered:
        return 0.0
    position = share * (len(ordered) - 1)
    low = math.floor(position)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (position - low)


def _tpots(records: Iterable[Record]) -> Iterator[float]:
    return (record.tpot for record in records if record.tpot is not None)


# The samples of each metric of `--percentile-metrics`, in seconds.
METRICS: Mapping[str, Callable[[Sequence[Record]], Iterable[float]]] = {
    "ttft": lambda records: (record.ttft for record in records),
    "tpot": _tpots,
    "itl": lambda records: chain.from_iterable(record.itl for record in records),
    "e2el": lambda records: (record.latency for record in records),
    "client_queue_time": lambda records: (record.queue_time for record in records),
    "e2el_including_client_queue": lambda records: (record.queue_time + record.latency for record in records),
}


def count_good(records: Iterable[Record], slo_ms: Mapping[str, float]) -> int:
    """Requests that meet every limit of `slo_ms` (milliseconds by `ttft`, `tpot`, `e2el`; another name is a
    ValueError).

    A request of a single token has a TPOT of 0 here.
    """
    for name in slo_ms:
        if name not in GOODPUT_METRICS:
            raise ValueError(f"goodput: {name!r} is none of {', '.join(GOODPUT_METRICS)}")
    return sum(_is_good(record, slo_ms) for record in records)


def _is_good(record: Record, slo_ms: Mapping[str, float]) -> bool:
    seconds = {"ttft": record.ttft, "tpot": record.tpot or 0.0, "e2el": record.latency}
    return all(seconds[name] * MS <= limit for name, limit in slo_ms.items())


def whole_second(seconds: float) -> int:
    """In which whole second that is. Half a microsecond short of one is in it: sums of floats drift."""
    return int(round(seconds, 6))


def peak_output_tokens_per_s(records: Sequence[Record]) -> float:
    """Most token events in one whole second, counted in seconds since the earliest start."""
    origin = min((record.start for record in records), default=0.0)
    times = chain.from_iterable(accumulate(record.itl, initial=record.start + record.ttft) for record in records)
    return float(max(Counter(whole_second(at - origin) for at in times).values(), default=0))


def peak_concurrency(records: Sequence[Record]) -> int:
    """Most requests that touch one whole second: more than ever ran together, as one second may see an end and a
    start."""
    origin = min((record.start for record in records), default=0.0)
    changes: Counter[int] = Counter()
    for record in records:
        changes[whole_second(record.start - origin)] += 1
        changes[whole_second(record.start + record.latency - origin) + 1] -= 1
    return max(accumulate(changes[second] for second in sorted(changes)), default=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """The aggregates of one run; `distributions` are in milliseconds, rates per second."""

    duration: float
    completed: int
    failed: int
    total_input_tokens: int
    total_output_tokens: int
    good: int | None
    max_output_tokens_per_s: float
    max_concurrent_requests: int
    distributions: Mapping[str, Distribution]

    def as_bench(self, by_request: Mapping[str, Sequence[Any]] | None = None) -> dict[str, Any]:
        """The keys of `vllm bench serve --save-result`, in its order, from `duration` on; `by_request` stands where it
        does there."""
        tokens = self.total_input_tokens + self.total_output_tokens
        head = {
            "duration": self.duration,
            "completed": self.completed,
            "failed": self.failed,
            "total_input_tokens": self.total_input_tokens,
            "total_output_tokens": self.total_output_tokens,
            "request_throughput": self.completed / self.duration,
            "request_goodput": None if self.good is None else self.good / self.duration,
            "output_throughput": self.total_output_tokens / self.duration,
            "total_token_throughput": tokens / self.duration,
            **(by_request or {}),
            "max_output_tokens_per_s": self.max_output_tokens_per_s,
            "max_concurrent_requests": self.max_concurrent_requests,
            "rtfx": 0.0,  # of audio alone
        }
        return head | {key: value for name, dist in self.distributions.items() for key, value in _flat(name, dist)}


def summarize(
    records: Sequence[Record],
    duration: float,
    *,
    metrics: Sequence[str] = ("ttft", "tpot", "itl"),
    percentiles: Sequence[float] = (99,),
    slo_ms: Mapping[str, float] | None = None,
) -> Summary:
    """Aggregate a run that took `duration` seconds (more than 0), from before its first request to the end of its
    last."""
    good = [record for record in records if record.success]
    return Summary(
        duration=duration,
        completed=len(good),
        failed=len(records) - len(good),
        total_input_tokens=sum(record.prompt_tokens for record in good),
        total_output_tokens=sum(record.output_tokens for record in good),
        good=None if slo_ms is None else count_good(good, slo_ms),
        max_output_tokens_per_s=peak_output_tokens_per_s(good),
        max_concurrent_requests=peak_concurrency(good),
        distributions={
            name: Distribution.of((value * MS for value in METRICS[name](good)), percentiles) for name in metrics
        },
    )


def _flat(name: str, dist: Distribution) -> Iterator[tuple[str, float]]:
    yield f"mean_{name}_ms", dist.mean
    yield f"median_{name}_ms", dist.median
    yield f"std_{name}_ms", dist.std
    for number, value in dist.percentiles.items():
        yield f"p{number:g}_{name}_ms", value
