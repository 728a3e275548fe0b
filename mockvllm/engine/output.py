"""What a step consists of, and what came out of it."""

import msgspec

from mockvllm.engine.kv_cache import PrefixCacheStats
from mockvllm.engine.request import FinishReason, Request


class SchedulerOutput(msgspec.Struct):
    """One batch: parallel lists in scheduling order, running requests first, then those admitted.

    `num_scheduled_tokens`: tokens of each request that the step computes. `num_new_tokens`: tokens of each that the
    update will deliver (0 while a prompt is not complete). `step_seconds`: how long the step takes (0 under `fixed`).
    While the batch is being made, `budget` is how many tokens it may still take; `preempted` tells that somebody had to
    leave for it.
    """

    budget: int
    requests: list[Request] = []
    num_scheduled_tokens: list[int] = []
    num_new_tokens: list[int] = []
    total_num_scheduled_tokens: int = 0
    step_seconds: float = 0.0
    preempted: bool = False

    def add(self, request: Request, num_scheduled_tokens: int, num_new_tokens: int) -> None:
        self.requests.append(request)
        self.num_scheduled_tokens.append(num_scheduled_tokens)
        self.num_new_tokens.append(num_new_tokens)
        self.budget -= num_scheduled_tokens

    def remove(self, request: Request) -> int:
        """Takes a request out again and returns how many tokens it was given; 0 if it is not in the batch."""
        if request not in self.requests:
            return 0
        index = self.requests.index(request)
        del self.requests[index], self.num_new_tokens[index]
        num_scheduled_tokens = self.num_scheduled_tokens.pop(index)
        self.budget += num_scheduled_tokens
        return num_scheduled_tokens


class RequestOutput(msgspec.Struct, gc=False):
    """What one update brought for one request: `num_new_tokens` more of its tokens (0: only its end)."""

    request: Request
    num_new_tokens: int
    finish_reason: FinishReason | None = None
    stop_reason: int | str | None = None


class SchedulerStats(msgspec.Struct):
    """The engine after an update; `prefix_cache_stats` counts since the update before. Usage is a share, 0 to 1."""

    num_running_reqs: int
    num_waiting_reqs: int
    kv_cache_usage: float
    prefix_cache_stats: PrefixCacheStats
