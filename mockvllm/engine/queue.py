"""The waiting requests, in the order in which they are to be admitted."""

from bisect import insort
from collections import deque
from collections.abc import Iterator
from typing import Protocol

from mockvllm.engine.request import Request


class RequestQueue(Protocol):
    """`prepend` puts a preempted request back: to the head, if the policy knows no better."""

    def add(self, request: Request) -> None: ...

    def prepend(self, request: Request) -> None: ...

    def peek(self) -> Request: ...

    def pop(self) -> Request: ...

    def remove(self, request: Request) -> None: ...

    def __iter__(self) -> Iterator[Request]: ...

    def __len__(self) -> int: ...


class FCFSRequestQueue:
    """First come, first served."""

    def __init__(self) -> None:
        self._queue: deque[Request] = deque()

    def add(self, request: Request) -> None:
        self._queue.append(request)

    def prepend(self, request: Request) -> None:
        self._queue.appendleft(request)

    def peek(self) -> Request:
        return self._queue[0]

    def pop(self) -> Request:
        return self._queue.popleft()

    def remove(self, request: Request) -> None:
        self._queue.remove(request)

    def __iter__(self) -> Iterator[Request]:
        return iter(self._queue)

    def __len__(self) -> int:
        return len(self._queue)


def _rank(request: Request) -> tuple[int, float, str]:
    return request.priority, request.arrival_time, request.request_id


class PriorityRequestQueue:
    """Smallest priority value first, then earliest arrival, then request id, whether preempted or not."""

    def __init__(self) -> None:
        self._queue: list[Request] = []

    def add(self, request: Request) -> None:
        insort(self._queue, request, key=_rank)

    prepend = add

    def peek(self) -> Request:
        return self._queue[0]

    def pop(self) -> Request:
        return self._queue.pop(0)

    def remove(self, request: Request) -> None:
        self._queue.remove(request)

    def __iter__(self) -> Iterator[Request]:
        return iter(self._queue)

    def __len__(self) -> int:
        return len(self._queue)
