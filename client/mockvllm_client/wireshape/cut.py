"""Hops that cut: a body into parts, or a body short."""

from collections.abc import Sequence
from itertools import pairwise

from mockvllm_client.wireshape.piece import Ending, Pass, Piece


class Split(Pass):
    """Cuts at the given offsets of the body (ascending), or every `every` bytes; `gap` seconds lie between two parts,
    so that they arrive apart."""

    def __init__(self, offsets: Sequence[int] = (), every: int = 0, gap: float = 0.0) -> None:
        self._offsets = list(offsets)
        self._every = every
        self._gap = gap
        self._sent = 0
        self._free_at = 0.0

    def feed(self, at: float, data: bytes) -> list[Piece]:
        if not data:
            return [Piece(max(at, self._free_at))]
        cuts = [0, *self._cuts(len(data)), len(data)]
        self._sent += len(data)
        return [self._part(at, data[start:stop]) for start, stop in pairwise(cuts)]

    def end(self, at: float, ending: Ending) -> list[Piece]:
        return [Piece(max(at, self._free_at), ending=ending)]

    def _cuts(self, size: int) -> list[int]:
        if self._every:
            return list(range(self._every - self._sent % self._every, size, self._every))
        return [cut for offset in self._offsets if 0 < (cut := offset - self._sent) < size]

    def _part(self, at: float, data: bytes) -> Piece:
        leaves = max(at, self._free_at)
        self._free_at = leaves + self._gap
        return Piece(leaves, data)


class Truncate(Pass):
    """Lets `size` bytes through and ends the body there, as told; the rest is lost."""

    def __init__(self, size: int, ending: Ending = Ending.CUT) -> None:
        self._left = size
        self._ending: Ending | None = ending

    def feed(self, at: float, data: bytes) -> list[Piece]:
        if self._ending is None:
            return []
        part, whole = data[: self._left], len(data) < self._left
        self._left -= len(part)
        return [Piece(at, part)] if whole else [Piece(at, part), *self.end(at, self._ending)]

    def end(self, at: float, ending: Ending) -> list[Piece]:
        if self._ending is None:
            return []
        self._ending = None
        return [Piece(at, ending=ending)]
