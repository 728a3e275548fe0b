"""Making a sweep: one run for each load, its result as JSON, and what read it as if it had been a file."""

import json
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from mockvllm_client.bench import file_name
from mockvllm_client.measure import GOODPUT_METRICS

from mockvllm.cli.progress import progress
from mockvllm.planning import plots
from mockvllm.planning.results import Result, parse_results

METRICS = ("ttft", "tpot", "itl", "e2el")
LOADS = [1, 2, 4, 8, 16, 32, 64]  # in flight, where no load is given
PROMPTS_IN_FLIGHT = 10  # requests for each one in flight

Told = Callable[[int], None]
Measure = Callable[[Namespace, Told | None], dict[str, Any]]
"""Runs the load of one point (`max_concurrency` and `request_rate` are single values) and gives its result."""


class RunFailedError(Exception):
    """Why there is nothing to measure, in one line."""


def run(args: Namespace, rest: Sequence[str]) -> list[Result]:
    """The results of all points; each is written as soon as it is there. Raises ValueError, OSError, RunFailedError."""
    points = list(_points(args))
    if args.plot:
        plots.save(plots.new_figure(), args.plot)  # what cannot be drawn is said before the run, not behind it
    if args.result_dir:
        args.result_dir.mkdir(parents=True, exist_ok=True)
    results = []
    with _target(args, rest) as measure:
        for point in points:
            with progress(point.num_prompts, name(point)) as told:
                result = measure(point, told)
            results += _kept(result, args.result_dir, name(point))
    return results


def name(point: Namespace) -> str:
    """The load as it was asked for."""
    flags = ("request_rate", "max_concurrency")
    return ", ".join(f"--{flag.replace('_', '-')} {getattr(point, flag):g}" for flag in flags if getattr(point, flag))


def _points(args: Namespace) -> Iterator[Namespace]:
    """The flags of each point."""
    rates, limits = args.request_rate or [None], args.max_concurrency or [None]
    if rates == limits:
        limits = LOADS
    if len(rates) > 1 and len(limits) > 1:
        raise ValueError("--max-concurrency and --request-rate: only one of them may be a list")
    numbers = {float(number) for number in (*args.metric_percentiles, args.percentile)}
    promised = {metric: limit for metric, limit in args.slo.items() if metric in GOODPUT_METRICS}
    for rate in sorted(rates):
        for limit in sorted(limits):
            yield Namespace(
                **vars(args)
                | {
                    "request_rate": rate,
                    "max_concurrency": limit,
                    "num_prompts": args.num_prompts or _num_prompts(rate, limit),
                    "percentiles": sorted(numbers),
                    "slo_ms": promised or None,
                }
            )


def _num_prompts(rate: float | None, limit: int | None) -> int:
    return PROMPTS_IN_FLIGHT * limit if limit and not rate else 1000


def _target(args: Namespace, rest: Sequence[str]) -> AbstractContextManager[Measure]:
    if args.base_url:
        from mockvllm.cli.sweep_live import live

        return live(args)
    from mockvllm.cli.sweep_virtual import virtual

    return virtual(args, rest)


def _kept(result: dict[str, Any], directory: Path | None, load: str) -> list[Result]:
    """What `mockvllm sweep` would read; it is called by its file, if it has one."""
    text = json.dumps(result)
    if directory is None:
        return parse_results(text, load)
    path = directory / file_name(result)
    path.write_text(f"{text}\n", "utf-8")
    return parse_results(text, str(path))
