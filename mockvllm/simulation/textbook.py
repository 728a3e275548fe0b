"""Preemption by the textbook: who runs goes first, who finds no block evicts somebody, then all enter who fit.

A rule of thumb that is often told. It knows no token budget, no chunks, no prefix cache and no reserved block; beside
the real scheduler it shows what those change.
"""

from collections import deque
from dataclasses import dataclass

from mockvllm.simulation.closed_loop import ClosedLoop, Tally

BLOCK_SIZE = 16


@dataclass(slots=True, eq=False)
class TextbookRequest:
    """`gen`: tokens said so far; `held`: blocks."""

    priority: int
    arrival: int
    gen: int = 0
    held: int = 0
    evicted: bool = False

    @property
    def rank(self) -> tuple[int, int]:
        return self.priority, self.arrival


class Textbook:
    """All `num_blocks` can be used. With `by_priority` the least urgent is evicted, else who entered last."""

    def __init__(self, loop: ClosedLoop, num_blocks: int, max_num_seqs: int, by_priority: bool) -> None:
        self.tally = Tally()
        self._loop = loop
        self._num_free = num_blocks
        self._max_num_seqs = max_num_seqs
        self._by_priority = by_priority
        self._running: list[TextbookRequest] = []
        self._waiting: deque[TextbookRequest] = deque()
        self._num_sent = 0
        self._num_done = 0
        for priority in loop.slots:
            self._send(priority)

    def run(self) -> Tally:
        """Ends after the step in which the last request that counts is done."""
        while self._num_done < self._loop.total:
            for request in self._running[:]:
                if request.held and self._make_room(request):
                    self._say(request)
            if self._by_priority:
                self._waiting = deque(sorted(self._waiting, key=lambda request: request.rank))
            self._admit()
            self.tally.steps += 1
            self.tally.peak_running = max(self.tally.peak_running, len(self._running))
        return self.tally

    def _send(self, priority: int) -> None:
        if self._loop.goes_on(self._num_sent):
            self._waiting.append(TextbookRequest(priority, self._num_sent))
            self._num_sent += 1

    def _num_lacking(self, request: TextbookRequest) -> int:
        """Blocks; none for the token that is about to be said."""
        return -(-(self._loop.prompt + request.gen) // BLOCK_SIZE) - request.held

    def _make_room(self, request: TextbookRequest) -> bool:
        """Evicts one after the other until `request` has its blocks; False if it had to leave itself."""
        while self._num_lacking(request) > self._num_free:
            victim = max(self._running, key=lambda other: other.rank) if self._by_priority else self._running[-1]
            self._running.remove(victim)
            self._waiting.appendleft(victim)
            self._give_back(victim)
            victim.evicted = True
            self.tally.preemptions_by_priority[victim.priority] += 1
            if victim is request:
                return False
        self._take(request)
        return True

    def _say(self, request: TextbookRequest) -> None:
        request.gen += 1
        if request.gen >= self._loop.output:
            self._running.remove(request)
            self._give_back(request)
            self._num_done += 1
            self._send(request.priority)

    def _admit(self) -> None:
        while self._waiting and len(self._running) < self._max_num_seqs:
            request = self._waiting[0]
            if self._num_lacking(request) > self._num_free:
                break
            self._waiting.popleft()
            if request.evicted:
                self.tally.recomputed_tokens += self._loop.prompt + request.gen
            self._take(request)
            request.gen += 1
            self._running.append(request)

    def _take(self, request: TextbookRequest) -> None:
        num_blocks = self._num_lacking(request)
        self._num_free -= num_blocks
        request.held += num_blocks

    def _give_back(self, request: TextbookRequest) -> None:
        self._num_free += request.held
        request.held = 0
