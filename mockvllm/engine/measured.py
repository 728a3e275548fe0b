"""Step times from measurements: `table`, a grid of measured points, and `trace`, steps as they happened.

A point says what a step had to do and how long it took: `prefill_tokens` (prompt tokens computed), `decode_seqs`
(requests that computed one token), `kv_tokens` (tokens of KV cache read, over all requests) and `seconds`. A file is
CSV with these names as its header, or a JSON list of objects; of the first three, what plays no part may be left out.
"""

import csv
import io
import json
import math
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import NamedTuple

from mockvllm.engine.nearest import Nearest
from mockvllm.engine.output import SchedulerOutput

FIGURES = ("prefill_tokens", "decode_seqs", "kv_tokens")
SAME = 1e-18  # squared distance, relative to the largest figures, within which a point is the one that was asked for


class StepFigures(NamedTuple):
    """What a step has to do, as `Linear` counts it."""

    prefill_tokens: float
    decode_seqs: float
    kv_tokens: float


class Point(NamedTuple):
    """One measurement."""

    figures: StepFigures
    seconds: float


def step_figures(output: SchedulerOutput) -> StepFigures:
    decodes = output.num_decodes
    return StepFigures(output.total_num_scheduled_tokens - decodes, decodes, output.num_kv_tokens)


def read_points(text: str, source: str) -> list[Point]:
    """The points of a file's text. Raises ValueError naming `source`, the point and the field."""
    rows = _json_rows(text, source) if text.lstrip().startswith(("[", "{")) else list(csv.DictReader(io.StringIO(text)))
    points = [_point(row, f"{source}: point {number}") for number, row in enumerate(rows, 1)]
    if not points:
        raise ValueError(f"{source}: holds no points")
    return points


def _json_rows(text: str, source: str) -> Sequence[Mapping[str, object]]:
    try:
        rows = json.loads(text)
    except ValueError as error:
        raise ValueError(f"{source}: is no JSON ({error})") from error
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise ValueError(f"{source}: must be a JSON list of objects")
    return rows


def _point(row: Mapping[str, object], where: str) -> Point:
    unknown = sorted(str(name) for name in row if name not in (*FIGURES, "seconds"))
    if unknown:
        raise ValueError(f"{where}: unknown field {unknown[0]} (known: {', '.join(FIGURES)}, seconds)")
    figures = StepFigures(*(_number(row.get(name, 0), name, where) for name in FIGURES))
    return Point(figures, _number(row.get("seconds"), "seconds", where))


def _number(value: object, name: str, where: str) -> float:
    try:
        number = float(value) if isinstance(value, str | int | float) else math.nan
    except ValueError:
        number = math.nan
    if not 0 <= number < math.inf:
        raise ValueError(f"{where}: {name} must be a number, not negative, but is {value!r}")
    return number


def _means(points: Iterable[Point]) -> dict[StepFigures, float]:
    """One time for each set of figures: the mean of its measurements."""
    seconds: defaultdict[StepFigures, list[float]] = defaultdict(list)
    for point in points:
        seconds[point.figures].append(point.seconds)
    return {figures: sum(values) / len(values) for figures, values in seconds.items()}


class Table:
    """`StepTime` by linear interpolation in a grid; beyond its edges the outermost cells are prolonged.

    Raises ValueError when the points are no full grid (each value of one figure with each of the others).
    """

    def __init__(self, points: Iterable[Point]) -> None:
        self._seconds = _means(points)
        self._axes = [sorted(set(values)) for values in zip(*self._seconds, strict=True)]
        missing = [corner for corner in product(*self._axes) if corner not in self._seconds]
        if missing:
            named = ", ".join(f"{name} {value:g}" for name, value in zip(FIGURES, missing[0], strict=True))
            raise ValueError(f"a table needs a full grid of points: there is none with {named}")

    def seconds(self, output: SchedulerOutput) -> float:
        """An empty batch takes no time."""
        return self.at(step_figures(output)) if output.num_seqs else 0.0

    def at(self, figures: StepFigures) -> float:
        """Seconds of a step with these figures, never negative."""
        edges = [_between(axis, value) for axis, value in zip(self._axes, figures, strict=True)]
        total = 0.0
        for corner in product(*edges):
            weight = math.prod(share for _, share in corner)
            total += weight * self._seconds[StepFigures(*(value for value, _ in corner))]
        return max(0.0, total)


def _between(axis: Sequence[float], value: float) -> list[tuple[float, float]]:
    """The two grid values around `value` (or the outermost two), each with its weight."""
    if len(axis) == 1:
        return [(axis[0], 1.0)]
    upper = min(max(bisect_right(axis, value), 1), len(axis) - 1)
    low, high = axis[upper - 1], axis[upper]
    share = (value - low) / (high - low)
    return [(low, 1 - share), (high, share)]


class Trace:
    """`StepTime` from steps as they were measured: the nearest ones count, the nearer the more.

    Each figure is taken relative to its largest value. Beyond what was measured the nearest steps hold.
    """

    def __init__(self, points: Iterable[Point]) -> None:
        means = _means(points)
        self._scale = [max(values) or 1.0 for values in zip(*means, strict=True)]
        self._nearest = Nearest([(self._scaled(figures), seconds) for figures, seconds in means.items()])

    def seconds(self, output: SchedulerOutput) -> float:
        """An empty batch takes no time."""
        return self.at(step_figures(output)) if output.num_seqs else 0.0

    def at(self, figures: StepFigures) -> float:
        """Seconds of a step with these figures."""
        near = self._nearest.find(self._scaled(figures))
        if near[0][0] < SAME:
            return near[0][1]
        weights = [1 / distance for distance, _ in near]
        return sum(weight * seconds for weight, (_, seconds) in zip(weights, near, strict=True)) / sum(weights)

    def _scaled(self, figures: StepFigures) -> tuple[float, ...]:
        return tuple(value / scale for value, scale in zip(figures, self._scale, strict=True))
