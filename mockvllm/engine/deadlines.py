"""When each request is due next: a heap whose entries die when their request gets another deadline or none."""

from heapq import heappop, heappush

from mockvllm.engine.request import Deadline, Request


class Deadlines:
    """At most one live deadline a request, its `next_deadline`. Of equal times the request added first leads."""

    def __init__(self) -> None:
        self.heap: list[Deadline] = []

    def set(self, request: Request, when: float) -> None:
        request.next_deadline = deadline = (when, request.arrival_number, request)
        heappush(self.heap, deadline)

    def clear(self, request: Request) -> None:
        request.next_deadline = None

    def earliest(self) -> float | None:
        """The time of the first live deadline."""
        heap = self.heap
        while heap and heap[0][2].next_deadline is not heap[0]:
            heappop(heap)
        return heap[0][0] if heap else None
