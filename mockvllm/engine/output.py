"""What a step consists of, and what came out of it."""

from bisect import bisect
from collections.abc import Iterator
from operator import attrgetter

import msgspec

from mockvllm.engine.kv_cache import PrefixCacheStats
from mockvllm.engine.lockstep import Lockstep
from mockvllm.engine.request import FinishReason, Request

_seat = attrgetter("seat")


class SchedulerOutput(msgspec.Struct):
    """One batch: parallel lists in scheduling order, running requests first, then those admitted.

    `num_scheduled_tokens`: tokens of each request that the step computes. `num_new_tokens`: tokens of each that the
    update will deliver (0 while a prompt is not complete). `step_seconds`: how long the step takes (0 under `fixed`).
    While the batch is being made, `budget` is how many tokens it may still take; `preempted` tells that somebody had to
    leave for it. The `num_lockstep` members of `lockstep` are given one token each and are not listed; whoever asks for
    figures right after schedule() gets theirs too.
    """

    budget: int
    requests: list[Request] = []
    num_scheduled_tokens: list[int] = []
    num_new_tokens: list[int] = []
    total_num_scheduled_tokens: int = 0
    step_seconds: float = 0.0
    preempted: bool = False
    lockstep: Lockstep | None = None
    num_lockstep: int = 0

    @property
    def num_seqs(self) -> int:
        """Requests that take part."""
        return len(self.requests) + self.num_lockstep

    @property
    def num_decodes(self) -> int:
        """Requests that are given a single token."""
        return self.num_scheduled_tokens.count(1) + self.num_lockstep

    @property
    def num_kv_tokens(self) -> int:
        """Tokens whose KV is read: of each request all that it has once the step is done."""
        listed = sum(request.num_computed_tokens for request in self.requests)
        return listed + (self.lockstep.num_computed_tokens if self.lockstep else 0)

    @property
    def num_attention_pairs(self) -> int:
        """Pairs of a token that is computed and one that it looks at: itself, and all before it."""
        pairs = self.num_kv_tokens
        for request, count in zip(self.requests, self.num_scheduled_tokens, strict=True):
            if count > 1:
                pairs += (count - 1) * request.num_computed_tokens - count * (count - 1) // 2
        return pairs

    def first(self) -> tuple[str, int]:
        """Id and context of the request that was scheduled first. Only of a batch that is not empty."""
        first = self.requests[0] if self.requests else None
        if self.num_lockstep and self.lockstep:
            member = self.lockstep.first()
            if first is None or member.seat < first.seat:
                return member.request_id, self.lockstep.context(member)
        assert first is not None
        return first.request_id, first.num_computed_tokens

    def contexts(self) -> Iterator[tuple[int, int]]:
        """Of each request the tokens that it is given, and those that it has once the step is done."""
        for request, num_scheduled_tokens in zip(self.requests, self.num_scheduled_tokens, strict=True):
            yield num_scheduled_tokens, request.num_computed_tokens
        if self.lockstep:
            for num_computed_tokens in self.lockstep.contexts():
                yield 1, num_computed_tokens

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

    def list_member(self, request: Request) -> None:
        """A member of the lockstep leaves it and is listed, in the order of admission."""
        place = len(self.requests)
        if place and self.requests[-1].seat > request.seat:
            place = bisect(self.requests, request.seat, key=_seat)
        self.requests.insert(place, request)
        self.num_scheduled_tokens.insert(place, 1)
        self.num_new_tokens.insert(place, 1)
        self.num_lockstep -= 1


class RequestOutput(msgspec.Struct, gc=False):
    """What one update brought for one request: `num_new_tokens` more of its tokens.

    `previous_token_at`: when the update before brought it some; None for its first.
    """

    request: Request
    num_new_tokens: int
    finish_reason: FinishReason | None = None
    stop_reason: int | str | None = None
    previous_token_at: float | None = None


class SchedulerStats(msgspec.Struct, gc=False):
    """The engine after an update; `prefix_cache_stats` counts since the update before. Usage is a share, 0 to 1.

    `num_lockstep_tokens`: how many requests got one token each without a result of their own (`Engine`, `lockstep`).
    """

    num_running_reqs: int
    num_waiting_reqs: int
    kv_cache_usage: float
    prefix_cache_stats: PrefixCacheStats
    num_lockstep_tokens: int = 0
