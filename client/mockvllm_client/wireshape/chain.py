"""Hops one behind the other."""

from mockvllm_client.wireshape.piece import Ending, Pass, Piece, Shape, pour


class Chain(Pass):
    """Hops one behind the other."""

    def __init__(self, *shapes: Shape) -> None:
        self._shapes = shapes

    @property
    def due(self) -> float | None:
        return min((shape.due for shape in self._shapes if shape.due is not None), default=None)

    def feed(self, at: float, data: bytes) -> list[Piece]:
        return self._through(0, [Piece(at, data)])

    def wake(self, at: float) -> list[Piece]:
        pieces: list[Piece] = []
        for position, shape in enumerate(self._shapes):
            if shape.due is not None and shape.due <= at:
                pieces += self._through(position + 1, shape.wake(at))
        return pieces

    def end(self, at: float, ending: Ending) -> list[Piece]:
        return self._through(0, [Piece(at, ending=ending)])

    def _through(self, position: int, pieces: list[Piece]) -> list[Piece]:
        for shape in self._shapes[position:]:
            pieces = pour(shape, pieces)
        return pieces
