"""When requests want to be sent (`vllm bench serve`, 0.33.0)."""

import math
import random
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate


@dataclass(frozen=True, slots=True)
class Arrivals:
    """`request_rate` per second (infinite: all at once) with Gamma distributed gaps: `burstiness` 1 is a Poisson
    process, less is burstier, infinite is constant."""

    request_rate: float = math.inf
    burstiness: float = 1.0

    def gap(self, draws: random.Random) -> float:
        """Seconds before a request."""
        if self.request_rate == math.inf:
            return 0.0
        if self.burstiness == math.inf:
            return 1 / self.request_rate
        return draws.gammavariate(self.burstiness, 1 / (self.request_rate * self.burstiness))

    def times(self, gaps: Sequence[float]) -> "array[float]":
        """The gaps one after the other, stretched so that the last request is sent at number of requests / rate."""
        times = array("d", accumulate(gaps))
        if not times or not times[-1]:
            return times
        stretch = len(times) / self.request_rate / times[-1]
        return array("d", (time * stretch for time in times))
