"""The bars of speed and memory, in processor time, so that a busy machine does not judge."""

import subprocess
import sys
import time
from pathlib import Path

import pytest
from simulated import reference

from mockvllm.engine import Linear
from mockvllm.simulation.random_dataset import RandomDataset
from mockvllm.simulation.run import run_workload

ROOT = Path(__file__).parents[2]
# The peak of this process alone: `ru_maxrss` begins with that of the process it was forked from.
LONG_RUN = """
import pathlib, re, time
from bench.simulation import long_run
run = long_run(100_000)
peak = re.search(r"VmHWM:\\s+(\\d+)", pathlib.Path("/proc/self/status").read_text())
print(time.process_time(), int(peak[1]) / 1024, run.simulated)
"""


def processor_seconds(step_by_step: bool) -> float:
    load = RandomDataset(num_prompts=1000, input_len=2000, output_len=250).workload()
    start = time.process_time()
    run_workload(load, reference(), Linear(0.04), max_concurrency=128, step_by_step=step_by_step)
    return time.process_time() - start


@pytest.mark.slow
def test_the_reference_load_is_quick_and_much_quicker_than_stepping() -> None:
    together = min(processor_seconds(step_by_step=False) for _ in range(9))
    apart = min(processor_seconds(step_by_step=True) for _ in range(3))
    assert together < 0.25
    assert apart / together > 6


@pytest.mark.slow
def test_a_hundred_thousand_requests() -> None:
    done = subprocess.run([sys.executable, "-c", LONG_RUN], cwd=ROOT, capture_output=True, text=True, check=True)
    seconds, mebibytes, simulated = map(float, done.stdout.split())
    assert seconds < 30
    assert mebibytes < 1024
    assert simulated == pytest.approx(5000, abs=30)
