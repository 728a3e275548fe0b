"""One result as JSON: the keys of `vllm bench serve --save-result` in their order, then what only the engine knows."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from mockvllm.simulation.arrivals import Arrivals
from mockvllm.simulation.engine_figures import by_priority, engine_figures
from mockvllm.simulation.outcome import Outcome
from mockvllm.simulation.series import requests_series, state_series


def result(
    outcome: Outcome,
    metrics: Sequence[str],
    percentiles: Sequence[float],
    slo_ms: Mapping[str, float] | None = None,
    detailed: bool = False,
) -> dict[str, Any]:
    """Raises ValueError for a metric that `slo_ms` cannot have, and for a run that took no time."""
    return {
        **outcome.summary(metrics, percentiles, slo_ms).as_bench(outcome.by_request() if detailed else None),
        **engine_figures(outcome, percentiles),
        "by_priority": by_priority(outcome, percentiles),
        "series": {**state_series(outcome.recorder), "requests": requests_series(outcome.recorder, outcome.sent_at)},
    }


def load_keys(arrivals: Arrivals, max_concurrency: int | None) -> dict[str, Any]:
    """How a result says what load it is of."""
    rate = arrivals.request_rate
    return {
        "request_rate": "inf" if rate == math.inf else rate,
        "burstiness": "inf" if arrivals.burstiness == math.inf else arrivals.burstiness,
        "max_concurrency": max_concurrency,
    }
