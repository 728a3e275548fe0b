"""What the engine's tests share: token sources, engines at hand, and a driver of playbooks."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from mockvllm.engine import Engine, EngineCore, Fixed, Linear, Pacing, Request, RequestOutput, SchedulerConfig

EOS = 2


class Words:
    """Says 100, 101, ... with other tokens at given places; stops after `end` tokens, or never."""

    def __init__(self, special: dict[int, int] | None = None, end: int | None = None) -> None:
        self.special = special or {}
        self.end = end

    def token(self, index: int) -> int:
        return self.special.get(index, 100 + index)

    def tokens(self, start: int, stop: int) -> Sequence[int]:
        return [self.token(index) for index in range(start, stop)]


def request(name: str = "a", prompt: int = 20, max_tokens: int = 5, at: float = 0.0, **options: Any) -> Request:
    """A request with a prompt of its own: no other name shares its blocks."""
    first = 1000 * (1 + sum(map(ord, name)))
    options.setdefault("outputs", Words())
    options.setdefault("prompt_token_ids", range(first, first + prompt))
    return Request(request_id=name, max_tokens=max_tokens, arrival_time=at, **options)


def config(num_gpu_blocks: int = 1000, **options: Any) -> SchedulerConfig:
    return SchedulerConfig(num_gpu_blocks=num_gpu_blocks, **options)


def fixed(pacing: Pacing, listeners: Sequence[Any] = (), max_tokens_per_result: int = 16, **options: Any) -> Engine:
    return Engine(config(**options), Fixed(pacing), listeners=listeners, max_tokens_per_result=max_tokens_per_result)


def linear(base: float = 1.0, listeners: Sequence[Any] = (), **options: Any) -> Engine:
    return Engine(config(**options), Linear(base), listeners=listeners)


Said = tuple[float, str, int]


def play_fixed(engine: Engine, until: float = 1e9, wake: Callable[[float], float] = lambda when: when) -> list[Said]:
    """Runs a paced engine up to `until`: (time, request, number of tokens) of all that was said. `wake`: when the
    driver really wakes for a deadline that is to come; to one that has passed it comes at once."""
    said: list[Said] = []
    core = EngineCore(engine)
    now = float("-inf")
    while (deadline := engine.next_deadline()) is not None and deadline <= until:
        now = max(now, wake(deadline) if deadline > now else now)
        batch = core.begin(now)
        assert batch is not None
        said += [(round(now, 9), result.request.request_id, result.num_new_tokens) for result in core.complete(now)]
    return said


def play_steps(core: EngineCore, ticks: int = 10_000) -> Iterator[list[RequestOutput]]:
    """The results of each tick while there is work; ticks count as seconds."""
    for tick in range(ticks):
        if not core.has_work:
            return
        yield core.complete(tick) if core.begin(tick) is not None else []
    raise AssertionError(f"still at work after {ticks} ticks")
