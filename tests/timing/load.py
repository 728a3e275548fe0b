"""A load on the real engine, on the virtual clock, written down as `vllm bench serve --save-detailed` does."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from mockvllm.clock import VirtualClock
from mockvllm.clock.driver import Driver
from mockvllm.engine import Engine, EngineCore, Request, RequestOutput, SchedulerConfig, StepTime


@dataclass(frozen=True)
class Speech:
    end: int | None = None

    def token(self, index: int) -> int:
        return index

    def tokens(self, start: int, stop: int) -> Sequence[int]:
        return range(start, stop)


@dataclass
class Load:
    """Requests of (prompt tokens, output tokens), `concurrency` at a time, or one every `interval` seconds."""

    step_time: StepTime
    requests: list[tuple[int, int]]
    concurrency: int = 0
    interval: float = 0.0
    config: dict[str, Any] = field(default_factory=dict)

    def run(self) -> dict[str, Any]:
        """The detailed arrays of the result."""
        self._clock = VirtualClock(start=1000.0)
        config = {"num_gpu_blocks": 100_000, "max_model_len": 100_000, "enable_prefix_caching": False} | self.config
        engine = Engine(SchedulerConfig(**config), self.step_time)
        self._driver = Driver(EngineCore(engine), self._clock, self._deliver)
        self._times: list[list[float]] = [[] for _ in self.requests]
        self._starts = [0.0] * len(self.requests)
        self._sent = 0
        for index in range(self.concurrency or len(self.requests)):
            self._clock.call_at(self._clock.now() + index * self.interval, self._send)
        self._clock.run()
        return self._result()

    def _send(self) -> None:
        if self._sent == len(self.requests):
            return
        number, self._sent = self._sent, self._sent + 1
        prompt, output = self.requests[number]
        now = self._starts[number] = self._clock.now()
        tokens = range(number << 20, (number << 20) + prompt)
        self._driver.add(Request(str(number), tokens, output, Speech(), now, owner=number))

    def _deliver(self, results: list[RequestOutput], now: float) -> None:
        for result in results:
            self._times[result.request.owner] += [now] * result.num_new_tokens
            if result.finish_reason and self.concurrency:
                self._send()

    def _result(self) -> dict[str, Any]:
        return {
            "input_lens": [prompt for prompt, _ in self.requests],
            "output_lens": [len(times) for times in self._times],
            "ttfts": [times[0] - start for times, start in zip(self._times, self._starts, strict=True)],
            "itls": [[later - earlier for earlier, later in pairwise(times)] for times in self._times],
            "start_times": self._starts,
        }
