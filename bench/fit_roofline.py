"""Fits the constants of `roofline` to measured experiments, and judges the fit by leaving one model out.

    python bench/fit_roofline.py FILE...

A stage in its steady state is a fixed point: the step time decides how many requests run, and they the step time. The
fit solves that point with the step time itself (`Roofline.batch_seconds`), so it takes seconds; the verdict comes from
replays with the real engine (`fidelity_replay.py`). Constants are held near what is known of them (PRIORS), so that
what a set of models cannot tell apart (one GPU or several, many KV heads or few) is not made up. Needs scipy.
"""

import argparse
import dataclasses
import statistics
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from fidelity_replay import Experiment, Replay, Stage, read_experiment, step_time
from scipy.optimize import least_squares  # type: ignore[import-untyped]

from mockvllm.engine.roofline import Batch, Efficiency, Roofline

PRIORS = {  # constant: (expected, give or take)
    "weights": (0.90, 0.05),
    "kv_cache": (0.90, 0.08),
    "kv_heads_lost": (2.0, 1.0),
    "all_reduce": (6e-6, 2e-6),
    "step": (1.5e-3, 0.5e-3),
    "front_end": (6e-3, 2e-3),
    "front_end_sequence": (6e-5, 3e-5),
}
TPOT_ERROR, TTFT_ERROR = 0.01, 0.03  # what is expected of a stage, as a share
SATURATED_TPOT_ERROR = 0.005  # where all wait, an error of the step is multiplied in the waiting time
QUEUES = 1.0  # seconds of TTFT above which it is waiting time


def steady_state(experiment: Experiment, stage: Stage, model: Roofline) -> tuple[float, float]:
    """(TTFT, TPOT) in seconds of a stage in which nothing queues; beyond saturation TPOT alone means anything."""
    output, prompt = experiment.output_tokens, stage.prompt_tokens
    computed = (prompt - 1) % experiment.engine["block_size"] + 1  # the rest of the prompt is in the prefix cache
    tpot, running = stage.tpot, 0.0
    for _ in range(100):
        # The rest of the running step and the one scheduled behind it, then the request's own.
        engine_ttft = 2.5 * tpot
        running = min(stage.rate * (engine_ttft + (output - 1) * tpot), experiment.engine["max_num_seqs"])
        tokens = running + stage.rate * tpot * (computed - 1)
        kv_tokens = running * (prompt + output / 2)
        tpot = (tpot + model.batch_seconds(Batch(tokens, kv_tokens, kv_tokens))) / 2
    return engine_ttft + model.front_end_seconds(round(running)), tpot


def fit(experiments: Sequence[Experiment]) -> Efficiency:
    """The constants that fit these experiments best."""
    expected = np.array([mean for mean, _ in PRIORS.values()])
    spread = np.array([sigma for _, sigma in PRIORS.values()])

    def residuals(scaled: np.ndarray) -> list[float]:
        constants = efficiency(scaled * expected)
        errors = list((scaled - 1) * expected / spread)
        for experiment in experiments:
            model = step_time(experiment, constants)
            for stage in experiment.stages:
                ttft, tpot = steady_state(experiment, stage, model)
                if stage.ttft < QUEUES:
                    errors += [(tpot / stage.tpot - 1) / TPOT_ERROR, (ttft / stage.ttft - 1) / TTFT_ERROR]
                else:
                    errors.append((tpot / stage.tpot - 1) / SATURATED_TPOT_ERROR)
        return errors

    ones = np.ones(len(expected))
    upper = [1 / expected[0], 1 / expected[1], *(20.0,) * (len(expected) - 2)]  # no share above 1
    found = least_squares(residuals, ones, bounds=(0 * ones, upper))
    return efficiency(found.x * expected)


def efficiency(values: Sequence[float]) -> Efficiency:
    return dataclasses.replace(Efficiency(), **dict(zip(PRIORS, map(float, values), strict=True)))


def judge(experiments: Sequence[Experiment], constants: Efficiency) -> dict[str, list[float]]:
    """Absolute errors (shares) of full replays with the real engine."""
    errors: dict[str, list[float]] = {"tpot": [], "ttft": [], "e2e": []}
    for experiment in experiments:
        for stage, means in zip(experiment.stages, Replay(experiment, constants).run(), strict=True):
            errors["e2e"].append(means.e2e / stage.e2e - 1)
            if stage.ttft < QUEUES:
                errors["tpot"].append(means.tpot / stage.tpot - 1)
                errors["ttft"].append(means.ttft / stage.ttft - 1)
    return errors


def report(title: str, errors: dict[str, list[float]]) -> None:
    figures = [
        f"{name} {statistics.median(map(abs, shares)):6.1%} (worst {max(shares, key=abs):+.1%})"
        for name, shares in errors.items()
    ]
    print(f"{title:32}", "   ".join(figures))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path)
    experiments = [read_experiment(path) for path in parser.parse_args().files]
    constants = fit(experiments)
    for name in PRIORS:
        print(f"{name:20} {getattr(constants, name):.4g}")
    print("\nmedian absolute errors of full replays")
    report("all models", judge(experiments, constants))
    for model in sorted({experiment.model_name for experiment in experiments}):
        others = [experiment for experiment in experiments if experiment.model_name != model]
        own = [experiment for experiment in experiments if experiment.model_name == model]
        report(f"without {model}", judge(own, fit(others)))


if __name__ == "__main__":
    main()
