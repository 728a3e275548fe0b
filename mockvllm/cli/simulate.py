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
from mockvllm.cli.simulate_progress import progress
from mockvllm.engine import SchedulerConfig
from mockvllm.settings import Environment, Settings, check, parse
from mockvllm.settings.derive import BLOCK_SIZE, MAX_MODEL_LEN, derive
from mockvllm.settings.engine import num_gpu_blocks, scheduler_config
from mockvllm.settings.kv_room import check_kv_room
from mockvllm.settings.model_limit import model_limit
from mockvllm.settings.step_time import make_step_time
from mockvllm.settings.words import plain
from mockvllm.simulation.admission import check_admission
from mockvllm.simulation.outcome import Outcome
from mockvllm.simulation.result import load_keys, result
from mockvllm.simulation.run import run_workload
from mockvllm.simulation.scenario import read_scenario
from mockvllm.simulation.scenario_run import run_scenario
from mockvllm.simulation.workload import Workload


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
    outcome = _simulate(args, settings)
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


def _simulate(args: Namespace, settings: Settings) -> Outcome:
    workload = simulate_flags.workload(args)
    with progress(len(workload)) as told:
        return run_workload(
            workload,
            _engine_config(settings, workload),
            make_step_time(settings),
            rules=profiles.load(settings.profile).scheduler,
            max_concurrency=args.max_concurrency,
            max_tokens_per_result=settings.events_per_write,
            step_by_step=args.step_by_step,
            keep_runs=args.save_detailed,
            told=told,
        )


def _engine_config(settings: Settings, workload: Workload) -> SchedulerConfig:
    """That of the server with these settings; but without `--max-model-len` a small KV cache is no error: the longest
    request is then what it holds, if the workload can do with that."""
    blocks = num_gpu_blocks(settings, settings.block_size or BLOCK_SIZE)
    room = (blocks - 1) * (settings.block_size or BLOCK_SIZE)
    limit = model_limit(settings)
    if settings.max_model_len is None and 0 < room < (limit or MAX_MODEL_LEN):
        check_admission(workload, _scheduler_config(settings, limit, blocks))
        settings = replace(settings, max_model_len=room)
    check(settings, Environment.read(os.environ))
    check_kv_room(derive(settings, model_limit=limit, num_gpu_blocks=blocks), blocks)
    return _scheduler_config(settings, limit, blocks)


def _scheduler_config(settings: Settings, limit: int | None, blocks: int) -> SchedulerConfig:
    return scheduler_config(settings, derive(settings, model_limit=limit, num_gpu_blocks=blocks), blocks)
