"""Accumulators cheap enough to be fed with every token; they become Prometheus samples when somebody scrapes."""

import time
from bisect import bisect_left
from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.core import Metric as Family

from mockvllm.server.metrics.declarations import Metric


class Value:
    """A gauge, a counter, or one counter for each value of its extra label (`by`)."""

    def __init__(self, metric: Metric) -> None:
        self.metric = metric
        self.total = 0.0
        self.by = dict.fromkeys(metric.label[1], 0.0) if metric.label else {}
        self.created = time.time()

    def family(self, labels: dict[str, str]) -> Family:
        name, extra = f"vllm:{self.metric.name}", [self.metric.label[0]] if self.metric.label else []
        rows = [([*labels.values(), key], value) for key, value in self.by.items()] or [
            ([*labels.values()], self.total)
        ]
        if self.metric.kind == "counter":
            counter = CounterMetricFamily(name, self.metric.help, labels=[*labels, *extra])
            for values, total in rows:
                counter.add_metric(values, total, created=self.created)
            return counter
        gauge = GaugeMetricFamily(name, self.metric.help, labels=[*labels, *extra])
        for values, total in rows:
            gauge.add_metric(values, total)
        return gauge


class Buckets:
    """A histogram: `observe` is one bisection."""

    def __init__(self, metric: Metric) -> None:
        self.metric = metric
        self.bounds = metric.buckets
        self.counts = [0] * (len(metric.buckets) + 1)
        self.total = 0.0
        self.created = time.time()

    def observe(self, value: float) -> None:
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value

    def family(self, labels: dict[str, str]) -> Family:
        name = f"vllm:{self.metric.name}"
        family = HistogramMetricFamily(name, self.metric.help, labels=[*labels])
        family.add_metric([*labels.values()], list(self._cumulative()), self.total)
        family.add_sample(f"{name}_created", labels, self.created)
        return family

    def _cumulative(self) -> Iterator[tuple[str, float]]:
        running = 0
        for bound, count in zip((*self.bounds, float("inf")), self.counts, strict=True):
            running += count
            yield ("+Inf" if bound == float("inf") else str(float(bound))), running
