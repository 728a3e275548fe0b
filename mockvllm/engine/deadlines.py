"""When each request is due next: a heap whose entries die when their request gets another deadline or none."""

from collections.abc import Iterator
from heapq import heappop, heappush

from mockvllm.engine.request import Deadline, Request


class Deadlines:
    """At most one live deadline a request, its `next_deadline`. Of equal times the request added first leads."""

    def __init__(self) -> None:
        self._heap: list[Deadline] = []
        self._again: list[Deadline] = []  # of those that are due with every pass; the heap is spared them

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
        """The time of the first live deadline; any that has passed, if several have."""
        for deadline in self._again:
            if deadline[2].next_deadline is deadline:
                return deadline[0]
        heap = self._heap
        while heap and heap[0][2].next_deadline is not heap[0]:
            heappop(heap)
        return heap[0][0] if heap else None

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
                if deadline[2].next_deadline is deadline:
                    yield deadline[2]
        finally:
            self._again += again
