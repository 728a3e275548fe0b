"""Runs a workload on the engine that the server runs, on a virtual clock."""

from collections.abc import Callable

from mockvllm.clock import VirtualClock
from mockvllm.clock.driver import Driver
from mockvllm.engine import Engine, EngineCore, SchedulerConfig, StepTime
from mockvllm.profiles.scheduler import SchedulerRules
from mockvllm.simulation.admission import check_admission
from mockvllm.simulation.client import Client
from mockvllm.simulation.outcome import Outcome
from mockvllm.simulation.recorder import Recorder
from mockvllm.simulation.workload import Workload


def run_workload(
    workload: Workload,
    config: SchedulerConfig,
    step_time: StepTime,
    *,
    rules: SchedulerRules | None = None,
    max_concurrency: int | None = None,
    max_tokens_per_result: int = 16,
    step_by_step: bool = False,
    keep_runs: bool = False,
    told: Callable[[int], None] | None = None,
) -> Outcome:
    """`told(n)` hears how many requests are done. `step_by_step`: no step is taken together with others; the result is
    the same. Raises ValueError for a workload with a request that would never end, or an option the release lacks."""
    check_admission(workload, config)
    recorder, clock = Recorder(len(workload), keep_runs), VirtualClock()
    client = Client(workload, clock, max_concurrency, config.enable_prefix_caching, told)
    engine = Engine(
        config,
        step_time,
        listeners=[recorder],
        rules=rules,
        max_tokens_per_result=max_tokens_per_result,
        lockstep=not step_by_step,
    )
    client.start(Driver(EngineCore(engine), clock, client.deliver))
    clock.run()
    if client.num_done < len(workload):
        raise RuntimeError(f"the simulation stalled with {client.num_done} of {len(workload)} requests done")
    return Outcome(workload, recorder, client.sent_at)
