"""A closed loop: as many requests alive as there are slots, each with its slot's priority, until so many are done."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from mockvllm.clock import VirtualClock
from mockvllm.clock.driver import Driver
from mockvllm.engine import (
    Engine,
    EngineCore,
    EngineListener,
    Linear,
    Request,
    RequestOutput,
    SchedulerConfig,
    SchedulerOutput,
    SchedulerStats,
)
from mockvllm.simulation.tokens import own_answer, own_tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class ClosedLoop:
    """`slots`: the priority of each; lengths in tokens.

    `stops_sending`: once `total` requests were sent, nobody follows who is done; else the loop stays full until `total`
    are done.
    """

    slots: Sequence[int]
    total: int = 1000
    prompt: int = 2000
    output: int = 250
    stops_sending: bool = False

    def goes_on(self, num_sent: int) -> bool:
        """Whether another request follows."""
        return num_sent < self.total or not self.stops_sending


@dataclass(slots=True)
class Tally:
    """What the run of a scheduler counts. `recomputed_tokens` were lost by preemptions."""

    preemptions_by_priority: Counter[int] = field(default_factory=Counter)
    recomputed_tokens: int = 0
    steps: int = 0
    peak_running: int = 0

    @property
    def preemptions(self) -> int:
        return self.preemptions_by_priority.total()


class EngineLoop(EngineListener):
    """The loop on the engine that the server runs. Its step time is of no account: requests follow at once."""

    def __init__(self, loop: ClosedLoop, config: SchedulerConfig) -> None:
        self.tally = Tally()
        self._loop = loop
        self._num_sent = 0
        self._num_done = 0
        self._core = EngineCore(Engine(config, Linear(1.0), listeners=[self], lockstep=True))
        self._clock = VirtualClock()
        self._driver = Driver(self._core, self._clock, self._deliver)

    def run(self) -> Tally:
        for priority in self._loop.slots:
            self._send(priority)
        self._clock.run()
        return self.tally

    def _send(self, priority: int) -> None:
        if self._loop.goes_on(self._num_sent):
            number, loop = self._num_sent, self._loop
            self._num_sent += 1
            self._driver.add(
                Request(str(number), own_tokens(number, loop.prompt), loop.output, own_answer(number), number, priority)
            )

    def _deliver(self, results: list[RequestOutput], now: float) -> None:
        for result in results:
            if result.finish_reason is not None:
                self._num_done += 1
                self._send(result.request.priority)
        if self._num_done >= self._loop.total:
            self._driver.stop()

    def preempted(self, request: Request, num_computed_tokens: int, num_blocks: int, now: float) -> None:
        self.tally.preemptions_by_priority[request.priority] += 1
        self.tally.recomputed_tokens += num_computed_tokens

    def batch(self, output: SchedulerOutput, now: float) -> None:
        self.tally.steps += bool(output.num_seqs)
        self.tally.peak_running = max(self.tally.peak_running, output.num_seqs)

    def leapt(self, stats: SchedulerStats, times: Sequence[float], usages: Sequence[float]) -> None:
        self.tally.steps += len(times)
