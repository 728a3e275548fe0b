"""The waiting requests, in the order in which they are to be admitted. Method names are vLLM's."""

from bisect import insort
from collections import deque
from collections.abc import Iterator
from typing import Protocol

from mockvllm.engine.request import Request


class RequestQueue(Protocol):
    """`prepend_request` puts a preempted request back: to the head, if the policy knows no better."""

    def add_request(self, request: Request) -> None: ...

    def prepend_request(self, request: Request) -> None: ...

    def peek_request(self) -> Request: ...

    def pop_request(self) -> Request: ...

    def remove_request(self, request: Request) -> None: ...

    def __iter__(self) -> Iterator[Request]: ...

    def __len__(self) -> int: ...


class FCFSRequestQueue(deque[Request]):
    """First come, first served."""

    add_request = deque[Request].append
    prepend_request = deque[Request].appendleft
    pop_request = deque[Request].popleft
    remove_request = deque[Request].remove

    def peek_request(self) -> Request:
        return self[0]


class PriorityRequestQueue(list[Request]):
    """Smallest priority value first, then earliest arrival, then request id, whether preempted or not."""

    def add_request(self, request: Request) -> None:
        insort(self, request, key=_rank)

    def prepend_request(self, request: Request) -> None:
        self.add_request(request)

    def peek_request(self) -> Request:
        return self[0]

    def pop_request(self) -> Request:
        return self.pop(0)

    def remove_request(self, request: Request) -> None:
        self.remove(request)


def _rank(request: Request) -> tuple[int, float, str]:
    return request.priority, request.arrival_time, request.request_id
