"""What is to happen at given times, whatever the engine's steps do."""

from collections.abc import Callable
from heapq import heappop, heappush

Action = Callable[[float], None]


class Alarms:
    """`ring(when)` is told of a time at which `advance` has something to do, when it is the first one."""

    def __init__(self) -> None:
        self.ring: Callable[[float], None] = lambda when: None
        self._due: list[tuple[float, int, Action]] = []
        self._num_set = 0

    def at(self, when: float, action: Action) -> None:
        """Of equal times the action set first leads."""
        self._num_set += 1
        heappush(self._due, (when, self._num_set, action))
        if self._due[0][1] == self._num_set:
            self.ring(when)

    def advance(self, now: float) -> None:
        """Whatever was due by `now` happens."""
        while self._due and self._due[0][0] <= now:
            heappop(self._due)[2](now)

    @property
    def next(self) -> float | None:
        """The first time at which `advance` has something to do."""
        return self._due[0][0] if self._due else None
