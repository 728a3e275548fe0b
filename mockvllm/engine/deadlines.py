"""When each request is due next: a heap whose entries die when their request gets another deadline or none."""

from collections.abc import Iterator
from heapq import heappop, heappush

from mockvllm.engine.request import Deadline, Request


class Deadlines:
    """At most one live deadline a request, its `next_deadline`. Of equal times the request added first leads."""

    def __init__(self) -> None:
        self._heap: list[Deadline] = []
        self._again: list[Deadline] = []  # of those that are due with every pass, earliest first; no work for the heap

    def set(self, request: Request, when: float) -> None:
        request.next_deadline = deadline = (when, request.arrival_number, request)
        heappush(self._heap, deadline)

    def set_again(self, request: Request, now: float) -> None:
        """Due with the next `take`, not with the one under way, whose `now` it is."""
        request.next_deadline = deadline = (now, request.arrival_number, request)
        self._again.append(deadline)

    def clear(self, request: Request) -> None:
        request.next_deadline = None

    def earliest(self) -> float | None:
        """The time of the first live deadline."""
        heap = self._heap
        while heap and not is_live(heap[0]):
            heappop(heap)
        again = next(filter(is_live, self._again), None)
        if again is None or (heap and heap[0] < again):
            return heap[0][0] if heap else None
        return again[0]

    def take(self, now: float) -> Iterator[Request]:
        """Whoever is due, in order. Nobody is lost who is not asked for."""
        again, self._again = self._again, []
        again.sort()
        again.reverse()
        heap = self._heap
        try:
            while True:
                if again and not (heap and heap[0] < again[-1]):
                    deadline = again.pop()
                elif heap and heap[0][0] <= now:
                    deadline = heappop(heap)
                else:
                    return
                if is_live(deadline):
                    yield deadline[2]
        finally:
            self._again[:0] = reversed(again)


def is_live(deadline: Deadline) -> bool:
    return deadline[2].next_deadline is deadline
