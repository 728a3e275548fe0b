"""Hops that hold bytes back: all of them, blocks, for a time, by events."""

from mockvllm_client.sse import Boundaries
from mockvllm_client.wireshape.piece import Ending, Pass, Piece


class Full(Pass):
    """Holds everything until the end. The other holding shapes say what leaves earlier."""

    def __init__(self) -> None:
        self._held = bytearray()

    def feed(self, at: float, data: bytes) -> list[Piece]:
        self._held += data
        return []

    def end(self, at: float, ending: Ending) -> list[Piece]:
        return [*self._release(at, len(self._held)), Piece(at, ending=ending)]

    def _release(self, at: float, size: int) -> list[Piece]:
        data = bytes(self._held[:size])
        del self._held[:size]
        return [Piece(at, data)] if data else []


class Blocks(Full):
    """Holds until `size` bytes are together and lets them go in blocks of exactly that, wherever that cuts."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self._size = size

    def feed(self, at: float, data: bytes) -> list[Piece]:
        self._held += data
        return self._release(at, len(self._held) // self._size * self._size)


class Timed(Full):
    """Holds for `seconds` from the first byte held, then lets everything go."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self._seconds = seconds
        self._due: float | None = None

    @property
    def due(self) -> float | None:
        return self._due

    def feed(self, at: float, data: bytes) -> list[Piece]:
        self._held += data
        if self._held and self._due is None:
            self._due = at + self._seconds
        return []

    def wake(self, at: float) -> list[Piece]:
        self._due = None
        return self._release(at, len(self._held))


class Events(Full):
    """Holds until `count` whole events are together; what follows them waits for the next group."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self._count = count
        self._boundaries = Boundaries()
        self._ends: list[int] = []  # offsets into the held bytes, each behind a whole event

    def feed(self, at: float, data: bytes) -> list[Piece]:
        self._ends += [len(self._held) + end for end in self._boundaries.feed(data)]
        self._held += data
        groups = len(self._ends) // self._count
        return self._let_go(at, groups * self._count) if groups else []

    def _let_go(self, at: float, events: int) -> list[Piece]:
        size = self._ends[events - 1]
        self._ends = [end - size for end in self._ends[events:]]
        return self._release(at, size)
