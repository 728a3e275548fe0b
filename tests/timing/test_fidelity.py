"""The roofline step time against measurements on real GPUs, replayed with the real engine (`bench/fidelity.py`)."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / "tests" / "data" / "fidelity").glob("*.json"))
SATURATED = "codellama-34b-tp2-reasoning"
MEDIAN_BARS = {"ttft": 0.05, "tpot": 0.03, "e2e": 0.03}
STAGE_BARS = {"ttft": 0.15, "tpot": 0.08, "e2e": 0.15}


def fidelity(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, ROOT / "bench" / "fidelity.py", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=600)


def report(*arguments: str | Path) -> Any:
    done = fidelity(*arguments, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def check_stages(stages: list[dict[str, Any]], *metrics: str) -> None:
    for stage in stages:
        waits = stage["ttft"]["measured_s"] > 1
        for metric in metrics:
            if metric == "e2e" or not waits:
                assert abs(stage[metric]["error"]) <= STAGE_BARS[metric], (stage["file"], stage["rate_rps"], metric)


def test_a_short_replay_meets_the_bars() -> None:
    """The first 40 seconds of every stage in which nothing queues; too few for TTFT, as the first prompts are not yet
    in the prefix cache."""
    found = report(*(path for path in FILES if path.stem != SATURATED), "--seconds", "40")
    assert len(found["stages"]) == 11
    check_stages(found["stages"], "tpot", "e2e")
    assert found["median"]["tpot"] <= MEDIAN_BARS["tpot"]


@pytest.mark.slow
def test_every_stage_in_full_meets_the_bars() -> None:
    found = report(*FILES)
    assert len(found["stages"]) == 12
    check_stages(found["stages"], *STAGE_BARS)
    for metric, bar in MEDIAN_BARS.items():
        assert found["median"][metric] <= bar


def test_an_error_is_predicted_over_measured(tmp_path: Path) -> None:
    """An experiment whose measurements are doubled: the predictions stay, the errors follow."""
    data = json.loads(FILES[0].read_text("utf-8"))
    data["stages"] = data["stages"][:1]
    measured = data["stages"][0]["measured"]
    for metric in ("ttft_s", "e2e_s"):
        measured[metric]["mean"] *= 2
    measured["tpot_mean_s"] *= 2
    doubled = tmp_path / "doubled.json"
    doubled.write_text(json.dumps(data))
    one, two = (report(path, "--seconds", "15")["stages"][0] for path in (FILES[0], doubled))
    for metric in MEDIAN_BARS:
        assert one[metric]["predicted_s"] == two[metric]["predicted_s"]
        assert two[metric]["error"] == pytest.approx((1 + one[metric]["error"]) / 2 - 1)


def test_a_table_for_people_and_a_clear_error() -> None:
    table = fidelity(FILES[0], "--seconds", "3").stdout.splitlines()
    assert table[0].split()[:2] == ["experiment", "req/s"]
    assert table[-1].startswith("median absolute error: ttft ")
    missing = fidelity("no-such-file.json")
    assert (missing.returncode, missing.stderr.count("\n")) == (1, 1)
    assert "no-such-file.json" in missing.stderr
