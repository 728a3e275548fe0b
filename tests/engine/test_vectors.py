"""Step-exact parity: every scenario that was recorded from the real vLLM scheduler, under each release."""

import json
import lzma
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest

from mockvllm import profiles
from mockvllm.simulation.scenario import Scenario
from mockvllm.simulation.scenario_run import run_scenario

DATA = Path(__file__).parent.parent / "data" / "sched"
NEWEST = "0.33.0"
LONG_BUT_QUICK = ("ref_n128_fcfs_b8192", "ref_n128_priority_b8192_jitter_async")
OPTIONS_SINCE_0_32 = ("long_prefill_token_threshold_adaptive", "max_num_active_seqs")

Vector = dict[str, Any]


@cache
def vectors(release: str) -> dict[str, Vector]:
    """By name: the newest release has all, an older one those whose trace differs."""
    lines = lzma.decompress((DATA / f"{release}.jsonl.xz").read_bytes()).splitlines()
    return {vector["scenario"]["name"]: vector for vector in map(json.loads, lines)}


def is_known_to(release: str, vector: Vector) -> bool:
    return release != "0.30.0" or not any(vector["scenario"]["config"][option] for option in OPTIONS_SINCE_0_32)


def cases() -> list[Any]:
    """Under the newest release everything is in the quick suite but the long recordings, of which it keeps a few; under
    an older one what was recorded anew, because its trace differs."""
    cases = []
    for profile in profiles.NAMES:
        release = profiles.load(profile).version
        for name, vector in vectors(NEWEST).items():
            if is_known_to(release, vector):
                long = vector["scenario"].get("record") == "aggregate" and name not in LONG_BUT_QUICK
                slow = long if release == NEWEST else name not in vectors(release)
                cases.append(pytest.param(profile, name, marks=[pytest.mark.slow] if slow else []))
    return cases


def run(scenario: Vector, profile: str) -> Vector:
    trace = run_scenario(msgspec.convert(scenario, Scenario), profiles.load(profile))
    decoded: Vector = msgspec.json.decode(msgspec.json.encode(trace))
    return decoded


@pytest.mark.parametrize(("profile", "name"), cases())
def test_trace_equals_the_recording(profile: str, name: str) -> None:
    vector = vectors(NEWEST)[name]
    expected = vectors(profiles.load(profile).version).get(name, vector)["trace"]
    trace = run(vector["scenario"], profile)
    for line, expected_line in zip(trace.get("steps", []), expected.get("steps", []), strict=False):
        assert line == expected_line
    assert trace == expected


def test_the_releases_differ_where_the_recordings_do() -> None:
    """The rules of one release do not give the traces of another."""
    for older in ("0.32.0", "0.30.0"):
        for name, vector in vectors(older).items():
            assert run(vectors(NEWEST)[name]["scenario"], "0.33") != vector["trace"], name
