"""A workload that was run, as its load generator saw it. Formulas are those of `mockvllm_client.measure`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

from mockvllm_client.measure import MS, Record, Summary, summarize

from mockvllm.simulation.recorder import Recorder
from mockvllm.simulation.timeline import gaps, peak_events_per_second, token_times
from mockvllm.simulation.weighted import distribution
from mockvllm.simulation.workload import Workload


@dataclass(frozen=True)
class Outcome:
    """`sent_at`: when each request was sent, in seconds since the start."""

    workload: Workload
    recorder: Recorder
    sent_at: Sequence[float]

    @property
    def duration(self) -> float:
        """Seconds from the start to the end of the last request. ValueError for none: there is no rate to tell."""
        duration = max(self.recorder.last_token_at)
        if not duration:
            raise ValueError("the run took no time: every step takes 0 ms (--step-time)")
        return duration

    @cached_property
    def records(self) -> Sequence[Record]:
        """Each request. The gaps between its tokens are left out: there are too many, and most are alike."""
        told, workload = self.recorder, self.workload
        lengths = zip(told.output_lens, workload.prompt_lens, strict=True)
        times = zip(self.sent_at, told.first_token_at, told.last_token_at, workload.arrivals, strict=True)
        return [
            Record(
                start=sent,
                ttft=first - sent,
                latency=last - sent,
                output_tokens=output,
                prompt_tokens=prompt,
                arrival=arrival,
            )
            for (sent, first, last, arrival), (output, prompt) in zip(times, lengths, strict=True)
        ]

    def summary(
        self, metrics: Sequence[str], percentiles: Sequence[float], slo_ms: Mapping[str, float] | None = None
    ) -> Summary:
        """Raises ValueError for a metric that `slo_ms` cannot have."""
        summary = summarize(self.records, self.duration, metrics=metrics, percentiles=percentiles, slo_ms=slo_ms)
        distributions = dict(summary.distributions)
        if "itl" in distributions:
            distributions["itl"] = distribution(gaps(self.recorder), percentiles, scale=MS)
        peak = peak_events_per_second(self.recorder, min(self.sent_at))
        return replace(summary, distributions=distributions, max_output_tokens_per_s=float(peak))

    def by_request(self) -> dict[str, Any]:
        """`--save-detailed`: one entry a request. `itls` are there if the recorder kept the runs."""
        return {
            "input_lens": list(self.workload.prompt_lens),
            "output_lens": list(self.recorder.output_lens),
            "ttfts": [record.ttft for record in self.records],
            **({"itls": self._itls()} if self.recorder.runs is not None else {}),
            "latencies": [record.latency for record in self.records],
            "start_times": list(self.sent_at),
            "queue_times": [record.queue_time for record in self.records],
            "generated_texts": [""] * len(self.records),
            "errors": [""] * len(self.records),
        }

    def _itls(self) -> list[list[float]]:
        times = (token_times(self.recorder, number) for number in range(len(self.records)))
        return [[after - before for before, after in pairwise(tokens)] for tokens in times]
