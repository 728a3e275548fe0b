"""The series behind the picture, short enough to be drawn."""

from collections.abc import Sequence
from typing import Any

from mockvllm.simulation.recorder import Recorder

MOST_POINTS = 2000
MOST_REQUESTS = 200


def state_series(recorder: Recorder) -> dict[str, list[float]]:
    """The engine's state over time (seconds). Of many updates, groups in a row count as one: its end, and the highest
    values in it."""
    times = recorder.times
    size = -(-len(times) // MOST_POINTS) or 1
    bounds = range(0, len(times), size)
    return {
        "time": [times[min(start + size, len(times)) - 1] for start in bounds],
        "running": [max(recorder.running[start : start + size]) for start in bounds],
        "waiting": [max(recorder.waiting[start : start + size]) for start in bounds],
        "kv_cache_usage": [max(recorder.usage[start : start + size]) for start in bounds],
    }


def requests_series(recorder: Recorder, sent_at: Sequence[float]) -> list[dict[str, Any]]:
    """The first requests, with the times (seconds) at which each went on; `pauses`: from losing a seat to the next."""
    return [
        {
            "id": str(number),
            "sent": sent_at[number],
            "scheduled": recorder.scheduled_at[number],
            "first_token": recorder.first_token_at[number],
            "finished": recorder.last_token_at[number],
            "pauses": _pauses(recorder, number),
        }
        for number in range(min(MOST_REQUESTS, len(sent_at)))
    ]


def _pauses(recorder: Recorder, number: int) -> list[tuple[float, float]]:
    """The last one lasts until the end if the last token was on its way when the request lost its seat."""
    times = recorder.pauses.get(number, [])
    return list(zip(times[::2], [*times[1::2], recorder.last_token_at[number]], strict=False))
