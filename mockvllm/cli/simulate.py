"""`mockvllm simulate`: the engine on a virtual clock."""

import os
import sys
from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import msgspec

from mockvllm import profiles
from mockvllm.cli import simulate_flags
from mockvllm.cli.progress import progress
from mockvllm.cli.simulate_engine import simulated
from mockvllm.settings import Settings, parse
from mockvllm.settings.words import plain
from mockvllm.simulation.result import load_keys, result
from mockvllm.simulation.scenario import read_scenario
from mockvllm.simulation.scenario_run import run_scenario


def main(argv: Sequence[str]) -> int:
    """Exit status 0; 2 with one line on standard error for wrong flags, files and workloads."""
    words = plain(argv)
    args, rest = simulate_flags.parser().parse_known_args(words)
    try:
        settings = replace(parse(rest, os.environ), seed=args.seed)
        simulate_flags.check_scenario(args, words, settings.model_tag)
        return _replay(args, settings) if args.scenario else _run(args, settings)
    except (OSError, ValueError) as error:
        print(f"mockvllm simulate: error: {error}", file=sys.stderr)
        return 2


def _replay(args: Namespace, settings: Settings) -> int:
    trace = run_scenario(read_scenario(args.scenario), profiles.load(settings.profile))
    encoded = msgspec.json.encode({"trace": trace}) + b"\n"
    if args.trace is None:
        sys.stdout.buffer.write(encoded)
    else:
        args.trace.write_bytes(encoded)
    return 0


def _run(args: Namespace, settings: Settings) -> int:
    workload = simulate_flags.workload(args)
    with progress(len(workload)) as told:
        outcome = simulated(workload, settings, args, told)
    slo_ms = dict(args.goodput) if args.goodput else None
    figures = result(outcome, args.percentile_metrics, args.metric_percentiles, slo_ms, args.save_detailed)
    load = load_keys(simulate_flags.arrivals(args), args.max_concurrency)
    whole = {"model_id": settings.model_names[0], "num_prompts": len(outcome.workload), **load, **figures}
    if args.result_filename is not None:
        args.result_filename.write_bytes(msgspec.json.encode(whole) + b"\n")
    if args.plot is not None:
        from mockvllm.simulation.picture import save_picture

        save_picture(figures["series"], args.plot)
    _print(whole, args)
    return 0


def _print(whole: Mapping[str, Any], args: Namespace) -> None:
    from mockvllm.cli.console import print_json
    from mockvllm.cli.simulate_report import print_report

    if args.json:
        print_json(whole)
    else:
        print_report(whole, args.percentile_metrics, args.metric_percentiles)
