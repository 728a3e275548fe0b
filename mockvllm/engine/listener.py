"""Every state change of the engine, told once. Journal, metrics, KV events and traces listen and keep no books."""

from collections.abc import Callable, Sequence
from typing import Any

from mockvllm.engine.kv_events import KVEvent
from mockvllm.engine.output import RequestOutput, SchedulerOutput, SchedulerStats
from mockvllm.engine.request import Request


class EngineListener:
    """Override what you want to hear; what nobody overrides costs nothing. `now` is the time given to the engine.

    Within one update the order is: `finished` of each request that ends (its blocks are free), `kv`, `step`.
    """

    def queued(self, request: Request, now: float) -> None:
        """It joined the waiting requests."""

    def scheduled(self, request: Request, num_hit_tokens: int, now: float) -> None:
        """It was admitted, or resumed (`num_preemptions` > 0); its first tokens were found in the prefix cache."""

    def preempted(self, request: Request, num_computed_tokens: int, num_blocks: int, now: float) -> None:
        """It lost its seat, its blocks and the tokens computed so far."""

    def batch(self, output: SchedulerOutput, now: float) -> None:
        """A call of `schedule()` is done, be the batch empty or not."""

    def finished(self, request: Request, num_blocks: int, now: float) -> None:
        """It ended, aborts included, and gave back the blocks it held."""

    def kv(self, events: Sequence[KVEvent], now: float) -> None:
        """What happened to the prefix cache since the update before; never empty."""

    def tokens(self, results: Sequence[RequestOutput], now: float) -> None:
        """What an update brought; for who needs no statistics, which cost some time."""

    def step(self, results: Sequence[RequestOutput], stats: SchedulerStats, now: float) -> None:
        """An update is done."""

    def leapt(self, stats: SchedulerStats, times: Sequence[float], usages: Sequence[float]) -> None:
        """Many steps are done in which nothing happened but that each running request got a token (`Engine.leap`): at
        each time an update without results, after which this share of the KV blocks was held, and then a schedule().

        The engine leaps only if all who override `step` or `batch` override this too, and nobody overrides `kv`.
        """


class Listeners:
    """For each kind of event, the methods of those who listen to it."""

    def __init__(self, listeners: Sequence[EngineListener]) -> None:
        for name in ("batch", "finished", "kv", "leapt", "preempted", "queued", "scheduled", "step", "tokens"):
            setattr(self, name, [getattr(x, name) for x in listeners if _overrides(x, name)])
        step_by_step = [x for x in listeners if any(_overrides(x, name) for name in ("batch", "step", "tokens"))]
        self.can_leap = not self.kv and all(_overrides(x, "leapt") for x in step_by_step)

    queued: list[Callable[[Request, float], None]]
    scheduled: list[Callable[[Request, int, float], None]]
    preempted: list[Callable[[Request, int, int, float], None]]
    batch: list[Callable[[SchedulerOutput, float], None]]
    finished: list[Callable[[Request, int, float], None]]
    kv: list[Callable[[Sequence[KVEvent], float], None]]
    step: list[Callable[[Sequence[RequestOutput], SchedulerStats, float], None]]
    tokens: list[Callable[[Sequence[RequestOutput], float], None]]
    leapt: list[Callable[[SchedulerStats, Sequence[float], Sequence[float]], None]]


def _overrides(listener: EngineListener, name: str) -> bool:
    method: Any = getattr(type(listener), name)
    return method is not getattr(EngineListener, name)
