"""A sweep on the virtual clock: each point is what `mockvllm simulate` makes of it."""

import os
from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from mockvllm_client.bench import head, kept

from mockvllm.cli.simulate_engine import simulated
from mockvllm.cli.simulate_flags import arrivals, random_workload
from mockvllm.cli.sweep_run import METRICS, Measure, Told
from mockvllm.settings import parse
from mockvllm.simulation.result import load_keys


@contextmanager
def virtual(args: Namespace, rest: Sequence[str]) -> Iterator[Measure]:
    """`rest`: the engine's flags. Raises ValueError for wrong ones; measuring raises it for a load that never ends."""
    settings = replace(parse(list(rest), os.environ), seed=args.seed)
    model = settings.model_names[0]

    def measure(point: Namespace, told: Told | None) -> dict[str, Any]:
        point.step_by_step = False
        outcome = simulated(random_workload(point, {0: 1.0}), settings, point, told)
        summary = outcome.summary(METRICS, point.percentiles, point.slo_ms)
        about = head(
            backend="simulate",
            label=point.label,
            model_id=model,
            tokenizer_id=model,
            num_prompts=point.num_prompts,
            load=load_keys(arrivals(point), point.max_concurrency),
        )
        return about | summary.as_bench(kept(outcome.by_request(), point.save_detailed))

    yield measure
