"""Least squares for a handful of unknowns, by modified Gram-Schmidt."""

import math
from collections.abc import Sequence

MIX = 1e-6  # a column that differs from a mix of others by less than this share says nothing of its own

Vector = list[float]


def least_squares(columns: Sequence[Sequence[float]], target: Sequence[float]) -> list[float | None]:
    """The factors with which the columns add up to `target` best. None for one that is a mix of those before it."""
    units: list[Vector] = []
    used: list[int] = []
    mixes: list[Vector] = []  # of each used column: how much of each unit is in it
    for number, column in enumerate(columns):
        rest, mix = _without(list(column), units)
        length = math.hypot(*rest)
        if length > MIX * math.hypot(*column):
            units.append([value / length for value in rest])
            mixes.append([*mix, length])
            used.append(number)
    _, amounts = _without(list(target), units)
    factors: list[float | None] = [None] * len(columns)
    for number, factor in zip(used, _back_substitute(mixes, amounts), strict=True):
        factors[number] = factor
    return factors


def least_squares_not_negative(columns: Sequence[Sequence[float]], target: Sequence[float]) -> list[float | None]:
    """The same with no factor below zero: the most negative is set to zero until there is none."""
    factors = least_squares(columns, target)
    free = [number for number, factor in enumerate(factors) if factor is not None]
    while free:
        found = least_squares([columns[number] for number in free], target)
        values = {number: factor or 0.0 for number, factor in zip(free, found, strict=True)}
        lowest = min(free, key=values.__getitem__)
        if values[lowest] >= 0:
            return [None if factor is None else values.get(number, 0.0) for number, factor in enumerate(factors)]
        free.remove(lowest)
    return [None if factor is None else 0.0 for factor in factors]


def _without(vector: Vector, units: Sequence[Vector]) -> tuple[Vector, Vector]:
    """`vector` less what of it lies along each unit, and those amounts."""
    amounts = []
    for unit in units:
        amount = sum(a * b for a, b in zip(unit, vector, strict=True))
        vector = [value - amount * part for value, part in zip(vector, unit, strict=True)]
        amounts.append(amount)
    return vector, amounts


def _back_substitute(mixes: Sequence[Vector], amounts: Vector) -> Vector:
    factors = [0.0] * len(mixes)
    for row in reversed(range(len(mixes))):
        later = sum(mixes[column][row] * factors[column] for column in range(row + 1, len(mixes)))
        factors[row] = (amounts[row] - later) / mixes[row][row]
    return factors
