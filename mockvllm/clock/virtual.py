"""Time that passes as fast as the processor can: it jumps from deadline to deadline."""

import heapq
from collections import deque
from collections.abc import Callable

GRAIN = 1e-9


class Deadline:
    """A callback in a heap. Cancelling leaves it there, empty."""

    __slots__ = ("callback", "sequence", "when")

    def __init__(self, when: float, sequence: int, callback: Callable[[], None]) -> None:
        self.when = when
        self.sequence = sequence
        self.callback: Callable[[], None] | None = callback

    def cancel(self) -> None:
        self.callback = None

    def __lt__(self, other: "Deadline") -> bool:
        return (self.when, self.sequence) < (other.when, other.sequence)


class VirtualClock:
    """Deadlines in a heap. `run` plays all of them."""

    __slots__ = ("_heap", "_now", "_sequence", "_soon", "_until")
    slack = 0.0  # nobody is late

    def __init__(self, start: float = 0.0) -> None:
        self._now = start
        self._heap: list[Deadline] = []
        self._soon: deque[Callable[[], None]] = deque()
        self._sequence = 0
        self._until = float("inf")

    def now(self) -> float:
        return self._now

    def call_at(self, when: float, callback: Callable[[], None]) -> Deadline:
        self._sequence += 1
        deadline = Deadline(max(when, self._now), self._sequence, callback)
        heapq.heappush(self._heap, deadline)
        return deadline

    def call_soon(self, callback: Callable[[], None]) -> None:
        self._soon.append(callback)

    def next_deadline(self) -> float:
        """When the next callback is due, or `run` ends; infinity if neither will be."""
        if self._soon:
            return self._now
        heap = self._heap
        while heap and heap[0].callback is None:
            heapq.heappop(heap)
        return min(heap[0].when, self._until) if heap else self._until

    def skip_to(self, when: float) -> bool:
        """Move there at once, for whoever is being called. False, and time stands still, if anything is due by then."""
        if when >= self.next_deadline():
            return False
        self._now = when
        return True

    def run(self, until: float = float("inf")) -> None:
        """Play every callback that is due up to and including `until`, then stand at `until` (if it is finite).

        A deadline within a nanosecond is due: 0.3 + 0.04 is not always the same float as 0.34.
        """
        self._until = until
        self._settle()
        while self._heap and self._heap[0].when <= until + GRAIN:
            deadline = heapq.heappop(self._heap)
            callback, deadline.callback = deadline.callback, None
            if callback is not None:
                self._now = deadline.when
                callback()
                self._settle()
        if until != float("inf"):
            self._now = max(self._now, until)

    def _settle(self) -> None:
        while self._soon:
            self._soon.popleft()()
