"""The reference load, as the real scheduler was recorded under it."""

import json
import lzma
from pathlib import Path
from typing import Any

import msgspec
import pytest

from mockvllm.engine import Linear
from mockvllm.simulation.closed_loop import ClosedLoop, EngineLoop
from mockvllm.simulation.random_dataset import RandomDataset
from mockvllm.simulation.run import run_workload
from mockvllm.simulation.scenario import Scenario

RECORDINGS = Path(__file__).parent.parent / "data" / "sched" / "0.33.0.jsonl.xz"


def recordings() -> dict[str, dict[str, Any]]:
    """Closed loops whose requests are all alike, by name."""
    vectors = map(json.loads, lzma.decompress(RECORDINGS.read_bytes()).splitlines())
    return {
        vector["scenario"]["name"]: vector
        for vector in vectors
        if vector["scenario"].get("closed_loop") and not vector["scenario"]["closed_loop"].get("jitter")
    }


VECTORS = recordings()
NAMES = [name for name, vector in VECTORS.items() if vector["scenario"]["closed_loop"]["total"] == 1000]


def test_the_recordings_hold_loads_with_and_without_preemption() -> None:
    assert len(NAMES) > 10
    preemptions = [VECTORS[name]["trace"]["summary"]["preemptions"] for name in NAMES]
    assert 0 in preemptions
    assert max(preemptions) > 100


@pytest.mark.parametrize("name", NAMES)
def test_a_closed_loop_counts_what_the_recording_counts(name: str) -> None:
    scenario = msgspec.convert(VECTORS[name]["scenario"], Scenario)
    expected = VECTORS[name]["trace"]["summary"]
    recorded = scenario.closed_loop
    assert recorded is not None
    loop = ClosedLoop(
        slots=recorded.slots, total=recorded.total, prompt=recorded.prompt, output=recorded.output, stops_sending=True
    )
    tally = EngineLoop(loop, scenario.config).run()
    by_priority = {int(key): figures["preemptions"] for key, figures in expected["by_priority"].items()}
    assert {key: tally.preemptions_by_priority[key] for key in by_priority} == by_priority
    assert tally.recomputed_tokens == expected["recomputed_tokens"]
    assert tally.steps == expected["steps_total"]
    assert tally.peak_running == expected["peak_running"]


@pytest.mark.parametrize("name", [name for name in NAMES if "fcfs" in name])
def test_so_does_a_workload(name: str) -> None:
    scenario = msgspec.convert(VECTORS[name]["scenario"], Scenario)
    expected, loop = VECTORS[name]["trace"]["summary"], scenario.closed_loop
    assert loop is not None
    load = RandomDataset(num_prompts=loop.total, input_len=loop.prompt, output_len=loop.output).workload()
    told = run_workload(load, scenario.config, Linear(0.04), max_concurrency=len(loop.slots)).recorder
    assert sum(told.num_preemptions) == expected["preemptions"]
    assert len(told.pauses) == expected["by_priority"]["0"]["preempted_requests"]
    assert sum(told.recomputed_tokens) == expected["recomputed_tokens"]
    assert told.num_steps == expected["steps_total"]
    assert told.peak_running == expected["peak_running"]
