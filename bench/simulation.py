"""How fast `mockvllm simulate` is: against its own plain stepping, and on a long run. `python bench/simulation.py`.

Wall time of the simulation itself and of its figures, without imports: linear with a base of 40 ms and nothing else,
asynchronous, no prefix caching, 13,046 blocks, a budget of 8192 tokens.
"""

import argparse
import resource
import time
from collections.abc import Callable
from statistics import median
from typing import NamedTuple

from mockvllm.engine import Linear, SchedulerConfig
from mockvllm.simulation.arrivals import Arrivals
from mockvllm.simulation.outcome import Outcome
from mockvllm.simulation.random_dataset import RandomDataset
from mockvllm.simulation.result import result
from mockvllm.simulation.run import run_workload

STEP_TIME = Linear(0.04)
METRICS = ("ttft", "tpot", "itl", "e2el")
REFERENCE_BAR, RATIO_BAR = 0.5, 10.0
LONG_BAR, MEMORY_BAR = 30.0, 1024  # seconds, MiB


class Run(NamedTuple):
    """Seconds that were simulated, and wall seconds: of the run, and of its workload and figures."""

    simulated: float
    run: float
    rest: float

    @property
    def speed(self) -> float:
        """Simulated seconds a second."""
        return self.simulated / self.run


def config(max_num_seqs: int) -> SchedulerConfig:
    return SchedulerConfig(
        num_gpu_blocks=13_046,
        max_num_seqs=max_num_seqs,
        max_num_batched_tokens=8192,
        enable_prefix_caching=False,
        async_scheduling=True,
    )


def timed(dataset: RandomDataset, simulate: Callable[..., Outcome]) -> Run:
    start = time.perf_counter()
    workload = dataset.workload()
    ready = time.perf_counter()
    outcome = simulate(workload)
    done = time.perf_counter()
    result(outcome, METRICS, (50, 95, 99))
    return Run(outcome.duration, done - ready, ready - start + time.perf_counter() - done)


def reference(step_by_step: bool) -> Run:
    """1,000 requests of 2,000 + 250 tokens, 128 in flight."""
    dataset = RandomDataset(num_prompts=1000, input_len=2000, output_len=250)
    return timed(
        dataset,
        lambda load: run_workload(load, config(128), STEP_TIME, max_concurrency=128, step_by_step=step_by_step),
    )


def long_run(num_prompts: int) -> Run:
    """Requests of 600 + 250 tokens, Poisson at 20 per second."""
    dataset = RandomDataset(num_prompts=num_prompts, input_len=600, output_len=250, arrivals=Arrivals(20.0))
    return timed(dataset, lambda load: run_workload(load, config(1024), STEP_TIME))


def compare(rounds: int) -> bool:
    """Both ways in turn, so that other load on the machine meets both."""
    reference(step_by_step=False)
    plain, fast = [], []
    for _ in range(rounds):
        plain.append(reference(step_by_step=True))
        fast += [reference(step_by_step=False) for _ in range(3)]
    for name, runs in (("step by step", plain), ("steps together", fast)):
        best = min(runs, key=lambda run: run.run)
        middle = median(run.run for run in runs)
        print(
            f"reference, {name:14}  best {best.run:7.4f} s  median {middle:7.4f} s  and {best.rest:.4f} s for workload "
            f"and figures: {best.speed:9,.0f} simulated s/s"
        )
    quickest = min(run.run for run in fast)
    ratio = min(run.run for run in plain) / quickest
    middle = median(run.run for run in plain) / median(run.run for run in fast)
    print(f"ratio  best {ratio:.1f}  median {middle:.1f}  (bars: {RATIO_BAR:g} times, {REFERENCE_BAR} s)")
    return ratio >= RATIO_BAR and quickest < REFERENCE_BAR


def measure_long_run(num_prompts: int) -> bool:
    run = long_run(num_prompts)
    mebibytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    total = run.run + run.rest
    print(
        f"{num_prompts:,} requests, Poisson: {run.run:.2f} s, all together {total:.2f} s, {mebibytes:.0f} MiB: "
        f"{run.speed:,.0f} simulated s/s  (bars: {LONG_BAR:g} s, {MEMORY_BAR} MiB)"
    )
    return total < LONG_BAR and mebibytes < MEMORY_BAR


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=10, help="of the reference workload")
    parser.add_argument("--long", type=int, default=100_000, metavar="N", help="requests of the long run")
    args = parser.parse_args()
    met = [compare(args.rounds), measure_long_run(args.long)]
    return 0 if all(met) else 1


if __name__ == "__main__":
    raise SystemExit(main())
