"""TPOT hides jerks, ITL shows them: gaps of a load in which some steps carry somebody's big prefill."""

import random
from dataclasses import dataclass
from itertools import chain

from mockvllm_client.measure import quantile


@dataclass(frozen=True, slots=True, kw_only=True)
class Gaps:
    """Milliseconds: a normal gap ~ max(floor, N(mean, deviation)), one with a prefill ~ N(big_mean, big_deviation)."""

    mean: float = 43
    deviation: float = 3
    floor: float = 30
    big_mean: float = 150
    big_deviation: float = 20

    def draw(self, rng: random.Random, share: float) -> float:
        if rng.random() < share:
            return rng.gauss(self.big_mean, self.big_deviation)
        return max(self.floor, rng.gauss(self.mean, self.deviation))


@dataclass(frozen=True, slots=True, kw_only=True)
class Jerks:
    """Percentiles over requests (TPOT: the mean gap of each) and over all gaps (ITL); `share` of the gaps are big."""

    share: float
    tpot_p50_ms: float
    tpot_p95_ms: float
    itl_p50_ms: float
    itl_p95_ms: float
    itl_p99_ms: float


def jerks(share: float, requests: int = 100, gaps: int = 249, seed: int = 7, kind: Gaps | None = None) -> Jerks:
    """The percentiles of `requests` of `gaps` each, drawn from CPython's `random.Random(seed)`."""
    kind = kind or Gaps()
    rng = random.Random(seed)
    drawn = [[kind.draw(rng, share) for _ in range(gaps)] for _ in range(requests)]
    tpot = sorted(sum(request) / gaps for request in drawn)
    itl = sorted(chain.from_iterable(drawn))
    return Jerks(
        share=share,
        tpot_p50_ms=quantile(tpot, 0.50),
        tpot_p95_ms=quantile(tpot, 0.95),
        itl_p50_ms=quantile(itl, 0.50),
        itl_p95_ms=quantile(itl, 0.95),
        itl_p99_ms=quantile(itl, 0.99),
    )
