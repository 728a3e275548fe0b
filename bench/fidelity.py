"""Predicted against measured: replays experiments on real GPUs with `--step-time roofline` on the virtual clock.

    python bench/fidelity.py FILE... [--json] [--seconds S]

A file is one experiment (`tests/data/fidelity` has seven, and says where they come from). Counted as there: TTFT and
TPOT over the stages whose measured mean TTFT is below one second, E2E over all; an error is predicted / measured - 1.
"""

import argparse
import json
import math
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fidelity_replay import Experiment, Means, Replay, Stage, read_experiment

from mockvllm.engine.roofline import Efficiency

METRICS = ("ttft", "tpot", "e2e")
QUEUES = 1.0  # seconds of measured TTFT above which it is waiting time


def stage_report(experiment: Experiment, stage: Stage, means: Means) -> dict[str, Any]:
    report: dict[str, Any] = {"file": experiment.name, "rate_rps": stage.rate, "failed": means.failed}
    for metric in METRICS:
        predicted, measured = getattr(means, metric), getattr(stage, metric)
        report[metric] = {"predicted_s": predicted, "measured_s": measured, "error": predicted / measured - 1}
    return report


def median_errors(stages: Sequence[dict[str, Any]]) -> dict[str, float | None]:
    """Medians of the absolute errors, as shares; None where no stage counts."""
    medians: dict[str, float | None] = {}
    for metric in METRICS:
        counted = [stage for stage in stages if metric == "e2e" or stage["ttft"]["measured_s"] < QUEUES]
        medians[metric] = statistics.median(abs(stage[metric]["error"]) for stage in counted) if counted else None
    return medians


def run(files: Sequence[Path], seconds: float = math.inf) -> dict[str, Any]:
    stages: list[dict[str, Any]] = []
    for experiment in map(read_experiment, files):
        means = Replay(experiment, Efficiency()).run(seconds)
        stages += map(stage_report, [experiment] * len(means), experiment.stages, means)
    return {"stages": stages, "median": median_errors(stages)}


def table(report: dict[str, Any]) -> str:
    lines = [
        f"{'experiment':34}{'req/s':>6}" + "".join(f"{metric:>9} s{'measured':>9}{'error':>8}" for metric in METRICS)
    ]
    for stage in report["stages"]:
        cells = [
            f"{stage[metric]['predicted_s']:11.4f}{stage[metric]['measured_s']:9.4f}{stage[metric]['error']:8.1%}"
            for metric in METRICS
        ]
        lines.append(f"{stage['file']:34}{stage['rate_rps']:6.1f}{''.join(cells)}")
    medians = ", ".join(f"{name} {value:.1%}" for name, value in report["median"].items() if value is not None)
    return "\n".join([*lines, f"median absolute error: {medians}"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument(
        "--seconds", type=float, default=math.inf, help="cut stages short (never one that is to reach saturation)"
    )
    args = parser.parse_args()
    try:
        report = run(args.files, args.seconds)
    except OSError as error:
        sys.exit(f"fidelity.py: {error.filename}: {error.strerror}")
    except (ValueError, KeyError) as error:
        sys.exit(f"fidelity.py: not an experiment: {error!r}")
    print(json.dumps(report, indent=1) if args.json else table(report))


if __name__ == "__main__":
    main()
