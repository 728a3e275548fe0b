"""The load generator: requests at their times, at most so many in flight (`vllm bench serve --max-concurrency`)."""

from collections.abc import Callable

from mockvllm.clock import VirtualClock
from mockvllm.clock.driver import Driver
from mockvllm.engine import Request, RequestOutput
from mockvllm.simulation.tokens import ANY_ANSWER, own_answer
from mockvllm.simulation.workload import Workload


class Client:
    """Sends a workload through a driver; a request's `owner` is its number. `sent_at`: seconds, by number.

    `told(n)` hears how many requests are done whenever that changes. Without `with_tokens` prompts have a length, but
    no tokens to tell them apart.
    """

    def __init__(
        self,
        workload: Workload,
        clock: VirtualClock,
        max_concurrency: int | None,
        with_tokens: bool,
        told: Callable[[int], None] | None = None,
    ) -> None:
        self.sent_at = [0.0] * len(workload)
        self.num_done = 0
        self._workload = workload
        self._clock = clock
        self._limit = max_concurrency or len(workload)
        self._with_tokens = with_tokens
        self._told = told
        self._num_arrived = 0
        self._num_sent = 0

    def start(self, driver: Driver) -> None:
        self._add = driver.add
        self._arrive()

    def deliver(self, results: list[RequestOutput], now: float) -> None:
        """What the driver calls after each step."""
        done = 0
        for result in results:
            if result.finish_reason is not None:
                done += 1
        if done:
            self.num_done += done
            if self._told is not None:
                self._told(self.num_done)
            self._send(now)

    def _arrive(self) -> None:
        """Whoever wants to be sent by now; then wait for the next."""
        arrivals, now = self._workload.arrivals, self._clock.now()
        while self._num_arrived < len(arrivals) and arrivals[self._num_arrived] <= now:
            self._num_arrived += 1
        self._send(now)
        if self._num_arrived < len(arrivals):
            self._clock.call_at(arrivals[self._num_arrived], self._arrive)

    def _send(self, now: float) -> None:
        while self._num_sent < self._num_arrived and self._num_sent - self.num_done < self._limit:
            self.sent_at[self._num_sent] = now
            self._add(self._request(self._num_sent, now))
            self._num_sent += 1

    def _request(self, number: int, now: float) -> Request:
        workload = self._workload
        return Request(
            str(number),
            workload.prompt(number) if self._with_tokens else range(workload.prompt_lens[number]),
            workload.output_lens[number],
            own_answer(number) if self._with_tokens else ANY_ANSWER,
            now,
            workload.priorities[number],
            owner=number,
        )
