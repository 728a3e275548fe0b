"""The scheduler for virtual time: requests that decode alike are advanced together.

Between the tokens at which something may happen to a request, its part in a step is foreseen: it is given one token,
and a block where it fills one. Such requests are members of a `Lockstep`, and no step touches them. Whoever is about to
end leaves it; whenever the token budget or the free blocks might not do for all, everybody leaves and the step is that
of `Scheduler`. So nothing is decided here that is not decided there.
"""

from collections import deque
from collections.abc import Collection, Iterable
from itertools import accumulate, islice
from operator import attrgetter, sub

from mockvllm.engine.block_pool import CountedBlockPool
from mockvllm.engine.config import SchedulerConfig
from mockvllm.engine.kv_cache import KVCacheManager
from mockvllm.engine.listener import Listeners
from mockvllm.engine.lockstep import Lockstep
from mockvllm.engine.output import RequestOutput, SchedulerOutput
from mockvllm.engine.request import FinishReason, Request
from mockvllm.engine.scheduler import RUNNING, Scheduler
from mockvllm.profiles.scheduler import SchedulerRules

SHORTEST_STAY = 4  # batches for which joining is worth it

_seat = attrgetter("seat")


class LockstepScheduler(Scheduler):
    """Of the running requests some are members of the lockstep, the others are listed in each batch."""

    def __init__(
        self,
        config: SchedulerConfig,
        rules: SchedulerRules,
        kv_cache: KVCacheManager,
        listeners: Listeners,
        async_scheduling: bool,
    ) -> None:
        super().__init__(config, rules, kv_cache, listeners, async_scheduling)
        self._lockstep = Lockstep(config.block_size, async_scheduling)
        self._apart: dict[Request, None] = {}  # running, and not a member
        self._batches: deque[SchedulerOutput] = deque()  # in flight
        self._listed_last: list[Request] = []  # in the last batch; they may join before the next one
        self._nobody_can_enter = False  # who waits needs a seat or blocks that somebody must give back first
        self._counted = kv_cache.pool if isinstance(kv_cache.pool, CountedBlockPool) else None
        self._num_seats = 0
        self._hashes_at_schedule = kv_cache.enable_caching and not async_scheduling

    # --- who is listed

    def _listed(self) -> list[Request]:
        return sorted(self._apart, key=_seat)

    def _schedule_waiting(self, output: SchedulerOutput, now: float) -> None:
        num_listed = len(output.requests)
        super()._schedule_waiting(output, now)
        for request in output.requests[num_listed:]:
            self._num_seats += 1
            request.seat = self._num_seats
            self._apart[request] = None

    def _preempt(self, request: Request, now: float, drop_in_flight: bool = False) -> None:
        if request in self._lockstep.members:
            self._leave(request)
        del self._apart[request]
        super()._preempt(request, now, drop_in_flight)

    def abort(self, request: Request, now: float, reason: FinishReason = "abort") -> None:
        if request in self._lockstep.members:
            self._leave(request)
        self._apart.pop(request, None)
        super().abort(request, now, reason)

    def reset_prefix_cache(self, reset_running: bool, now: float) -> bool:
        self.settle()
        return super().reset_prefix_cache(reset_running, now)

    # --- coming and going of members

    def _leave(self, request: Request) -> None:
        """From now on it is listed, in the batches in flight too."""
        in_flight = self._lockstep.leave(request)
        if self._counted:
            self._take_reserved_blocks(request, self._counted)
        self._apart[request] = None
        for batch in islice(self._batches, len(self._batches) - in_flight, None):
            batch.list_member(request)

    def _take_reserved_blocks(self, request: Request, pool: CountedBlockPool) -> None:
        missing = self.kv_cache.num_blocks_for(request.num_computed_tokens) - len(request.block_ids)
        if missing:
            request.block_ids += pool.take_reserved(missing)
            request.num_slots += missing * self.config.block_size

    def settle(self) -> None:
        """Everybody leaves."""
        self._list(list(self._lockstep.members))

    def _let_join(self) -> None:
        """Of those whom the last batch gives a token, whoever goes on alike for a while."""
        for request in self._listed_last:
            if request.status is RUNNING and self._is_steady(request):
                stay = self._foreseen_batches(request)
                if stay >= SHORTEST_STAY:
                    del self._apart[request]
                    self._lockstep.join(request, stay)

    def _is_steady(self, request: Request) -> bool:
        """Whether the next batch is to give it one token."""
        lacking = request.num_tokens + request.num_output_placeholders - request.num_computed_tokens
        return lacking == 1 and not request.is_prefill_chunk

    def _foreseen_batches(self, request: Request) -> int:
        """In how many batches nothing can happen to it: neither is its end scheduled nor may a token be its last."""
        end = min(request.max_num_tokens, self.config.max_model_len)
        return min(end - request.num_computed_tokens, request.check_at - request.num_tokens) - 1

    # --- the step

    def schedule(self, now: float) -> SchedulerOutput:
        self._let_join()
        if self._lockstep.num_scheduled in self._lockstep.leaving:
            self._list(self._lockstep.take_leaving())
        output = super().schedule(now)
        self._batches.append(output)
        self._listed_last = output.requests
        self._nobody_can_enter = output.budget > 0 and not output.preempted and not self.kv_cache.enable_caching
        return output

    def _schedule_running(self, output: SchedulerOutput, now: float) -> None:
        lockstep = self._lockstep
        if lockstep.members and not self._only_members_need_anything(output.budget):
            self._list_who_decides(output, now)
        num_members = len(lockstep.members)
        output.budget -= num_members
        self._allocate_due(lockstep.due())
        if self._apart:
            super()._schedule_running(output, now)
            output.budget += num_members - len(lockstep.members)  # those who were preempted
        lockstep.num_scheduled += 1
        output.lockstep = lockstep
        output.num_lockstep = len(lockstep.members)

    def _only_members_need_anything(self, budget: int) -> bool:
        """And there is enough for all of them."""
        if self._apart or len(self._lockstep.members) > budget:
            return False
        return len(self._lockstep.due()) <= self.kv_cache.pool.num_free_blocks

    def _list_who_decides(self, output: SchedulerOutput, now: float) -> None:
        """A member may only be left out of the lists if it makes no difference when its turn comes."""
        listed = self._listed() if self._apart else ()
        spare = self._spare_budget(listed, output.budget)
        if spare is None:
            self.settle()
        elif self._blocks_are_short(listed):
            if self._counted and self.config.policy == "fcfs" and not listed:
                self._preempt_the_last(output, now)
                return
            if spare < 0 or (self.config.policy == "priority" and self.rules.self_preemption_ends_priority_pass):
                self.settle()  # what a preemption changes for others would depend on whose turn it is
            self._list(self._due())
        elif listed and self.kv_cache.enable_caching:
            due = self._due()
            if due and due[-1].seat > listed[0].seat:
                self._list(due)  # of equal blocks the one that was hashed first is found

    def _preempt_the_last(self, output: SchedulerOutput, now: float) -> None:
        """FCFS: whoever's turn it is when no block is left, the last one has to leave, and who leaves needs none."""
        output.preempted = True
        while len(self._lockstep.due()) > self.kv_cache.pool.num_free_blocks:
            self._preempt(next(reversed(self.running)), now)

    def _spare_budget(self, listed: Iterable[Request], budget: int) -> int | None:
        """What is left of the budget if all are given what they lack. Less than nothing: a prompt is not, but it comes
        behind all members. None: somebody comes behind a prompt that is not."""
        budget -= len(self._lockstep.members)
        for request in listed:
            budget -= request.num_tokens + request.num_output_placeholders - request.num_computed_tokens
            if budget < 0:
                return budget if request.seat > self._lockstep.last_seat else None
        return budget if budget >= 0 else None

    def _blocks_are_short(self, listed: Iterable[Request]) -> bool:
        """Whether somebody may have to be preempted."""
        kv_cache = self.kv_cache
        blocks = kv_cache.pool.num_free_blocks - len(self._lockstep.due())
        for request in listed:
            blocks -= kv_cache.num_blocks_for(request.num_tokens + self._placeholder) - len(request.block_ids)
        return blocks < 0

    def _due(self) -> list[Request]:
        """The members that the next step gives a block, or the hash of one."""
        due = self._lockstep.due()
        return sorted(due | self._lockstep.due(1) if self._hashes_at_schedule else due, key=_seat)

    def _list(self, members: Iterable[Request]) -> None:
        for request in members:
            self._leave(request)

    def _allocate_due(self, due: Collection[Request]) -> None:
        """`due`: the members that need a block."""
        if self._counted:
            self._counted.num_reserved += len(due)
        else:
            for request in self._due():
                self._allocate(request)

    def _allocate(self, request: Request) -> None:
        """A block for a member, or only its hash, as `Scheduler` does it."""
        num_computed_tokens, num_tokens = request.num_computed_tokens, request.num_tokens
        request.num_computed_tokens = self._lockstep.context(request)
        request.num_tokens = self._lockstep.num_tokens(request)
        self.kv_cache.allocate_slots(request, 1)
        request.num_computed_tokens, request.num_tokens = num_computed_tokens, num_tokens

    def update(self, output: SchedulerOutput, now: float) -> list[RequestOutput]:
        self._batches.popleft()
        self._lockstep.num_updated += 1
        self._lockstep.updated_at = now
        self.num_lockstep_tokens = output.num_lockstep
        results = super().update(output, now)
        for result in results:
            if result.finish_reason is not None:
                self._apart.pop(result.request, None)  # who was preempted is not there
        return results

    # --- many steps at once

    def only_members_take_part(self) -> bool:
        """In the batches in flight, and in the next one but for who may have to leave or enter then."""
        if self._apart or self._interval or not self._lockstep.members:
            return False
        if self.waiting and not self._nobody_can_enter:
            return False
        return not any(batch.requests for batch in self._batches)

    def foreseen_steps(self, most: int) -> list[int]:
        """The steps ahead in which the members of the lockstep are all who takes part: the first batch in flight is
        updated, and another one scheduled. How many blocks are free before each of them, and behind the last."""
        lockstep = self._lockstep
        due = lockstep.num_due(min(most, min(lockstep.leaving) - lockstep.num_scheduled))
        free_blocks = list(accumulate(due, sub, initial=self.kv_cache.pool.num_free_blocks))
        while free_blocks[-1] < 0:
            free_blocks.pop()
        return free_blocks

    def take_foreseen_steps(self, count: int, num_blocks: int) -> None:
        """The first `count` of them, which take so many blocks. Who is through with that says so by `leapt`."""
        lockstep = self._lockstep
        if self._counted:
            self._counted.num_reserved += num_blocks
            lockstep.num_updated += count
            lockstep.num_scheduled += count
            return
        for _ in range(count):
            lockstep.num_updated += 1
            self._allocate_due(lockstep.due())
            lockstep.num_scheduled += 1

    def leapt(self, num_steps: int, now: float) -> None:
        """So many steps were taken, the last of them `now`. The objects of batches that are done are used again."""
        self._batches.rotate(-num_steps)
        self._lockstep.updated_at = now
        self.num_lockstep_tokens = len(self._lockstep.members)
