"""Token times of a whole simulation, from the runs of its recorder."""

from collections import Counter
from collections.abc import Iterable, Iterator

from mockvllm_client.measure import whole_second

from mockvllm.simulation.recorder import NANOSECOND, Recorder


def gaps(recorder: Recorder) -> Counter[float]:
    """How often so many seconds passed between two tokens of one request (ITL, to the nanosecond)."""
    counts = recorder.gaps.copy()
    before = 0.0
    for time, events, begun in events_by_update(recorder):
        if events > begun:
            counts[round(time - before, NANOSECOND)] += events - begun
        before = time
    return counts


def peak_events_per_second(recorder: Recorder, origin: float) -> int:
    """Most token events in one whole second, counted in seconds since `origin`."""
    seconds: Counter[int] = Counter()
    for time, events, _ in events_by_update(recorder):
        seconds[whole_second(time - origin)] += events
    return max(seconds.values(), default=0)


def events_by_update(recorder: Recorder) -> Iterator[tuple[float, int, int]]:
    """Of each update its time, how many requests got tokens, and for how many of them a run began."""
    num_updates = len(recorder.times)
    begins, ends = _counts(recorder.run_begins, num_updates), _counts(recorder.run_ends, num_updates)
    events = 0
    for time, begun, ended in zip(recorder.times, begins, ends, strict=True):
        events += begun
        yield time, events, begun
        events -= ended


def _counts(updates: Iterable[int], num_updates: int) -> list[int]:
    counts = [0] * num_updates
    for update in updates:
        counts[update] += 1
    return counts


def token_times(recorder: Recorder, number: int) -> list[float]:
    """When a request got its tokens, of a recorder that keeps the runs."""
    assert recorder.runs is not None
    bounds = iter(recorder.runs[number])
    return [time for first in bounds for time in recorder.times[first : next(bounds) + 1]]
