"""The piece, the hop that holds nothing, and how pieces go through a hop."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol


class Ending(StrEnum):
    """How a body ends: as HTTP wants it, by closing the connection before that, or by resetting it."""

    EOF = "eof"
    CUT = "cut"
    RESET = "reset"


@dataclass(frozen=True, slots=True)
class Piece:
    """Bytes that leave at a time; with `ending`, the last ones."""

    at: float
    data: bytes = b""
    ending: Ending | None = None


class Shape(Protocol):
    """One hop. A fresh one for every body: they remember."""

    @property
    def due(self) -> float | None: ...

    def feed(self, at: float, data: bytes) -> list[Piece]: ...

    def wake(self, at: float) -> list[Piece]: ...

    def end(self, at: float, ending: Ending) -> list[Piece]: ...


class Pass:
    """Holds nothing."""

    @property
    def due(self) -> float | None:
        return None

    def feed(self, at: float, data: bytes) -> list[Piece]:
        return [Piece(at, data)]

    def wake(self, at: float) -> list[Piece]:
        return []

    def end(self, at: float, ending: Ending) -> list[Piece]:
        return [Piece(at, ending=ending)]


def pour(shape: Shape, pieces: Iterable[Piece]) -> list[Piece]:
    """What leaves `shape` when `pieces` go into it, each at its time; what is due in between leaves in between."""
    out: list[Piece] = []
    for piece in pieces:
        while shape.due is not None and shape.due <= piece.at:
            out += shape.wake(shape.due)
        if piece.data or piece.ending is None:
            out += shape.feed(piece.at, piece.data)
        if piece.ending is not None:
            out += shape.end(piece.at, piece.ending)
    return out
