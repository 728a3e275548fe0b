"""What no client sees of a run: seats, queue, KV blocks, preemptions, prefix hits."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from mockvllm_client.measure import MS, Distribution, summarize

from mockvllm.simulation.outcome import Outcome


def engine_figures(outcome: Outcome, percentiles: Sequence[float]) -> dict[str, Any]:
    """Means of `running`, `waiting` and `kv_cache_usage` (a share, 0 to 1) are over time; `queue` is what passes until
    a request is scheduled; `recomputed_tokens` had been computed when their request was preempted."""
    told = outcome.recorder
    queue = Distribution.of(_queue_ms(outcome, range(len(outcome.workload))), percentiles)
    return {
        "steps": told.num_steps,
        "peak_running": told.peak_running,
        "mean_running": _mean(outcome, told.running),
        "peak_waiting": max(told.waiting),
        "mean_waiting": _mean(outcome, told.waiting),
        "peak_kv_cache_usage": max(told.usage),
        "mean_kv_cache_usage": _mean(outcome, told.usage),
        "mean_queue_ms": queue.mean,
        "median_queue_ms": queue.median,
        **{f"p{percentile:g}_queue_ms": value for percentile, value in queue.percentiles.items()},
        **_preemptions(outcome, range(len(outcome.workload))),
        "prefix_hit_rate": told.num_hit_tokens / told.num_queried_tokens if told.num_queried_tokens else 0.0,
    }


def by_priority(outcome: Outcome, percentiles: Sequence[float]) -> dict[str, Any]:
    """The same of each priority, the most urgent first, and its latencies in milliseconds."""
    classes: dict[int, list[int]] = {}
    for number, priority in enumerate(outcome.workload.priorities):
        classes.setdefault(priority, []).append(number)
    return {str(priority): _class(outcome, numbers, percentiles) for priority, numbers in sorted(classes.items())}


def _class(outcome: Outcome, numbers: Sequence[int], percentiles: Sequence[float]) -> dict[str, Any]:
    records = [outcome.records[number] for number in numbers]
    figures = summarize(records, outcome.duration, metrics=("ttft", "tpot", "e2el"), percentiles=percentiles).as_bench()
    return {
        "completed": len(numbers),
        **_preemptions(outcome, numbers),
        "mean_queue_ms": Distribution.of(_queue_ms(outcome, numbers)).mean,
        **{key: value for key, value in figures.items() if key.endswith("_ms")},
    }


def _preemptions(outcome: Outcome, numbers: Iterable[int]) -> dict[str, int]:
    told = outcome.recorder
    times = [told.num_preemptions[number] for number in numbers]
    return {
        "preemptions": sum(times),
        "preempted_requests": sum(1 for number in times if number),
        "recomputed_tokens": sum(told.recomputed_tokens[number] for number in numbers),
    }


def _queue_ms(outcome: Outcome, numbers: Iterable[int]) -> Iterator[float]:
    told = outcome.recorder
    return (MS * (told.scheduled_at[number] - told.queued_at[number]) for number in numbers)


def _mean(outcome: Outcome, values: Sequence[float]) -> float:
    """What holds after an update holds until the next one."""
    times = outcome.recorder.times
    area = sum(value * (after - at) for value, at, after in zip(values, times, times[1:], strict=False))
    return area / outcome.duration
