"""Times that vary as real ones do, the same in every run: each draw comes from a seed and a request's id."""

import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist

from mockvllm.engine.output import SchedulerOutput
from mockvllm.engine.request import Pacing
from mockvllm.engine.roofline import Roofline
from mockvllm.engine.step_time import Fixed, StepTime

_NORMAL = NormalDist()
FrontEnd = Callable[[int], float]
"""Seconds that a request spends outside the engine, by the number of running ones."""


def factor(spread: float, seed: int, *what: object) -> float:
    """A draw with mean 1 and standard deviation `spread`, lognormal, so never negative; `what` names the draw."""
    if not spread:
        return 1.0
    digest = hashlib.blake2b(repr((seed, *what)).encode(), digest_size=8).digest()
    uniform = (int.from_bytes(digest, "big") + 0.5) / 2**64
    variance = math.log1p(spread**2)
    return math.exp(math.sqrt(variance) * _NORMAL.inv_cdf(uniform) - variance / 2)


@dataclass(frozen=True, slots=True)
class Spread:
    """Any step time but `fixed`, each step longer or shorter by chance.

    `spread`: standard deviation as a share of the mean. A step is told from others by the first request of its batch
    and how far that has come.
    """

    step_time: StepTime
    spread: float
    seed: int = 0

    def seconds(self, output: SchedulerOutput) -> float:
        seconds = self.step_time.seconds(output)
        if not seconds:
            return seconds
        return seconds * factor(self.spread, self.seed, *output.first())


def spread_pacing(pacing: Pacing, spread: float, seed: int, request_id: str) -> Pacing:
    """The same for `fixed`: a request's own pacing. What is before its first token varies together, its pace alone."""
    before = factor(spread, seed, request_id, "ttft")
    after = factor(spread, seed, request_id, "itl")
    return Pacing(pacing.queue * before, pacing.ttft * before, pacing.itl * after)


def front_end_of(step_time: StepTime) -> FrontEnd | None:
    """The time at the door that a step-time model knows of, spread or not."""
    inner = step_time.step_time if isinstance(step_time, Spread) else step_time
    return inner.front_end_seconds if isinstance(inner, Roofline) else None


@dataclass(frozen=True, slots=True)
class SpreadFixed(Fixed):
    """`fixed` with a pacing of its own for each request, by chance (`spread_pacing`)."""

    spread: float = 0.0
    seed: int = 0

    def pacing_of(self, request_id: str) -> Pacing:
        return spread_pacing(self.pacing, self.spread, self.seed, request_id)
