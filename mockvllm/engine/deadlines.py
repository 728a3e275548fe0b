"""When each request is due next: a heap whose entries die when their request gets another deadline or none."""

from heapq import heappop, heappush

from mockvllm.engine.request import Request


class Deadlines:
    """At most one live deadline a request, `request.next_deadline`; equal times keep the order of being set."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Request]] = []
        self._sequence = 0

    def set(self, request: Request, when: float) -> None:
        self._sequence += 1
        request.next_deadline = entry = (when, self._sequence, request)
        heappush(self._heap, entry)

    def clear(self, request: Request) -> None:
        request.next_deadline = None

    def earliest(self) -> float | None:
        """The time of the first live deadline."""
        heap = self._heap
        while heap and heap[0][2].next_deadline is not heap[0]:
            heappop(heap)
        return heap[0][0] if heap else None

    def pop_due(self, now: float) -> Request | None:
        """The request that is due first, if it is due; it then has no deadline."""
        heap = self._heap
        while heap and heap[0][0] <= now:
            entry = heappop(heap)
            request = entry[2]
            if request.next_deadline is entry:
                request.next_deadline = None
                return request
        return None
