"""A workload on the engine of `mockvllm serve` with its settings, on a virtual clock."""

import os
from argparse import Namespace
from collections.abc import Callable
from dataclasses import replace

from mockvllm import profiles
from mockvllm.engine import SchedulerConfig
from mockvllm.settings import Environment, Settings, check
from mockvllm.settings.derive import BLOCK_SIZE, MAX_MODEL_LEN, derive
from mockvllm.settings.engine import num_gpu_blocks, scheduler_config
from mockvllm.settings.kv_room import check_kv_room
from mockvllm.settings.model_limit import model_limit
from mockvllm.settings.step_time import make_step_time
from mockvllm.simulation.admission import check_admission
from mockvllm.simulation.outcome import Outcome
from mockvllm.simulation.run import run_workload
from mockvllm.simulation.workload import Workload


def simulated(
    workload: Workload, settings: Settings, args: Namespace, told: Callable[[int], None] | None = None
) -> Outcome:
    """`args`: `max_concurrency`, `save_detailed`, `step_by_step`. Raises ValueError for what cannot be run."""
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
