"""The constants of `linear` that explain measured steps best."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from mockvllm.engine.measured import Point
from mockvllm.engine.step_time import Linear
from mockvllm.fitting.least_squares import least_squares_not_negative

CONSTANTS = ("base", "per_prefill_token", "per_decode_seq", "per_kv_token")
OUTLIER = 5.0  # times the usual error
RESOLUTION = 1e-6  # seconds; smaller errors are rounding
ROUNDS = 5


@dataclass(frozen=True, slots=True)
class LinearFit:
    """`undetermined`: constants that the steps cannot tell from the others, counted as 0. `error`: the usual share."""

    linear: Linear
    undetermined: tuple[str, ...]
    num_steps: int
    num_outliers: int
    error: float


def fit_linear(points: Sequence[Point]) -> LinearFit:
    """No constant is negative; steps that something else held up (outliers) are left out. ValueError without steps."""
    if not points:
        raise ValueError("no step is known: the fit needs requests that decode at the same time")
    kept = list(points)
    for _ in range(ROUNDS):
        factors = least_squares_not_negative(list(zip(*map(_row, kept), strict=True)), [p.seconds for p in kept])
        linear = [factor or 0.0 for factor in factors]
        errors = [abs(_seconds(linear, point) - point.seconds) for point in points]
        limit = OUTLIER * statistics.median(errors) + RESOLUTION
        inliers = [point for point, error in zip(points, errors, strict=True) if error <= limit]
        if inliers == kept:
            break
        kept = inliers
    usual = statistics.median(abs(_seconds(linear, point) / point.seconds - 1) for point in kept)
    undetermined = tuple(name for name, factor in zip(CONSTANTS, factors, strict=True) if factor is None)
    return LinearFit(Linear(*linear), undetermined, len(points), len(points) - len(kept), usual)


def _row(point: Point) -> tuple[float, ...]:
    return (1.0, *point.figures)


def _seconds(linear: Sequence[float], point: Point) -> float:
    return sum(constant * value for constant, value in zip(linear, _row(point), strict=True))
