"""The requests of a detailed result of `vllm bench serve` (`--save-detailed`): who said a token when."""

import math
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from mockvllm.planning.errors import InputError
from mockvllm.planning.results import Result

FIELDS = ("start_times", "ttfts", "itls", "input_lens", "output_lens")


@dataclass(frozen=True, slots=True)
class Timeline:
    """One request: seconds at which it was sent and its tokens came, on the clock of the result."""

    sent_at: float
    prompt_tokens: int
    token_times: tuple[float, ...]


def timelines(result: Result) -> list[Timeline]:
    """The requests that were answered. Raises InputError for a result without details, or with broken ones."""
    for name in FIELDS:
        if not isinstance(result.values.get(name), list):
            raise InputError(f"{result.source}: has no {name}: run vllm bench serve with --save-result --save-detailed")
    columns = [result.values[name] for name in FIELDS]
    lengths = [len(column) for column in columns if isinstance(column, list)]
    if len(set(lengths)) != 1:
        raise InputError(f"{result.source}: {', '.join(FIELDS)} differ in length: {', '.join(map(str, lengths))}")
    found = list(_answered(result))
    if not found:
        raise InputError(f"{result.source}: holds no request that was answered")
    return found


def _answered(result: Result) -> Iterator[Timeline]:
    rows = zip(*(_list(result, name) for name in FIELDS), strict=True)
    for number, (start, ttft, gaps, prompt, output) in enumerate(rows):
        times = [start, ttft, prompt, output, *(gaps if isinstance(gaps, list) else [None])]
        if not all(isinstance(time, int | float) and math.isfinite(time) for time in times):
            raise InputError(f"{result.source}: request {number}: its times and lengths must be numbers")
        if output and ttft:
            yield Timeline(start, int(prompt), tuple(accumulate(gaps, initial=start + ttft)))


def _list(result: Result, name: str) -> list[object]:
    values = result.values[name]
    assert isinstance(values, list)
    return values


def median_gap(requests: Sequence[Timeline]) -> float:
    """Seconds between two tokens of a request."""
    gaps = [later - earlier for request in requests for earlier, later in pairwise(request.token_times)]
    return statistics.median(gaps) if gaps else 0.0
