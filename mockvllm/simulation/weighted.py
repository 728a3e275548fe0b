"""Statistics of values that occur many times, without writing them out: those of `mockvllm_client.measure`."""

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from itertools import accumulate

from mockvllm_client.measure import Distribution


def distribution(counts: Mapping[float, int], percentiles: Sequence[float], scale: float = 1.0) -> Distribution:
    """`Distribution.of` over each value x `scale`, as often as it occurs."""
    values = sorted(counts)
    ends = list(accumulate(counts[value] for value in values))
    if not ends:
        return Distribution.of((), percentiles)
    number = ends[-1]
    mean = math.fsum(value * counts[value] for value in values) / number
    std = math.sqrt(math.fsum((value - mean) ** 2 * counts[value] for value in values) / number)

    def quantile(share: float) -> float:
        position = share * (number - 1)
        low, high = (values[bisect_right(ends, place)] for place in (math.floor(position), math.ceil(position)))
        return scale * (low + (high - low) * (position - math.floor(position)))

    return Distribution(scale * mean, quantile(0.5), scale * std, {p: quantile(p / 100) for p in percentiles})
