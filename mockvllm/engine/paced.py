"""Scheduling under `fixed`: a step takes no time, and each request speaks at its own deadlines.

Seats, queue, blocks, budget and preemption are the scheduler's as ever. What differs: a batch is made of the requests
that are due, taken from a heap; a prompt is computed when it gets its seat and its first token is said later; a request
that is due several times over says several tokens at once. Deadlines are absolute, so lateness never adds up.
"""

from typing import ClassVar

from mockvllm.engine.config import SchedulerConfig
from mockvllm.engine.deadlines import Deadlines
from mockvllm.engine.kv_cache import KVCacheManager
from mockvllm.engine.listener import Listeners
from mockvllm.engine.output import RequestOutput, SchedulerOutput
from mockvllm.engine.request import Pacing, Request, RequestStatus
from mockvllm.engine.scheduler import RUNNING, PauseState, Scheduler
from mockvllm.profiles.scheduler import SchedulerRules


class PacedScheduler(Scheduler):
    """`max_tokens_per_result`: the most tokens one result carries."""

    NEW_TOKENS_OF_PREFILL: ClassVar[int] = 0

    def __init__(
        self,
        config: SchedulerConfig,
        rules: SchedulerRules,
        kv_cache: KVCacheManager,
        listeners: Listeners,
        pacing: Pacing,
        max_tokens_per_result: int,
    ) -> None:
        super().__init__(config, rules, kv_cache, listeners, async_scheduling=False)
        self._deadlines = Deadlines()
        self._pacing = pacing
        self._max_tokens_per_result = max_tokens_per_result
        self._num_held_back = 0  # requests whose queue time has not passed
        self._admission_pass = 0
        self._admission_is_due = False
        self._now = 0.0
        self._paused_at = 0.0

    # --- requests come and go

    def _enqueue(self, request: Request, now: float) -> None:
        self._now = now
        if request.pacing is None:
            request.pacing = self._pacing
        eligible = request.arrival_time + request.pacing.queue
        if eligible > now:
            self._num_held_back += 1
            self._deadlines.set(request, eligible)
        else:
            self._let_in(request)

    def _let_in(self, request: Request) -> None:
        request.admission_pass = self._admission_pass
        self.waiting.add(request)
        self._admission_is_due = True

    def _leave_queue(self, request: Request) -> None:
        if request.status is RequestStatus.WAITING and request.next_deadline is not None:
            self._num_held_back -= 1
        else:
            super()._leave_queue(request)
        self._deadlines.clear(request)

    def _release(self, request: Request, now: float) -> None:
        super()._release(request, now)
        self._now = now
        self._admission_is_due = True

    def _preempt(self, request: Request, now: float, drop_in_flight: bool = False) -> None:
        super()._preempt(request, now, drop_in_flight)
        self._now = now
        self._deadlines.clear(request)
        self._admission_is_due = True
        request.admission_pass = -1

    @property
    def num_waiting(self) -> int:
        return len(self.waiting) + self._num_held_back

    def has_requests(self) -> bool:
        return bool(self.running) or self.num_waiting > 0

    def pause(self, state: PauseState, now: float) -> None:
        super().pause(state, now)
        self._paused_at = now

    def resume(self, now: float) -> None:
        """Whoever was stopped goes on at its pace; what it did not say meanwhile is not made up for."""
        stopped = now - self._paused_at if self.pause_state is PauseState.PAUSED_ALL else 0.0
        super().resume(now)
        self._now = now
        self._admission_pass += 1
        self._admission_is_due = True
        for request in self.running:
            request.pace_origin += stopped
            if request.next_deadline is not None:
                self._deadlines.set(request, request.next_deadline[0] + stopped)

    def next_deadline(self) -> float | None:
        """When schedule() has something to do; not after the last `now` if that is at once. None: not before something
        is added, aborted or resumed."""
        if self.pause_state is PauseState.PAUSED_ALL:
            return None
        if self._admission_is_due and self.waiting and self.pause_state is PauseState.UNPAUSED:
            return self._now
        return self._deadlines.earliest()

    # --- schedule()

    def schedule(self, now: float) -> SchedulerOutput:
        self._now = now
        self._admission_is_due = False
        output = super().schedule(now)
        if output.budget <= 0 or (output.requests and not self.config.enable_chunked_prefill):
            self._admission_is_due = True  # somebody may have been refused for want of tokens, of which there are more
        return output

    def _schedule_running(self, output: SchedulerOutput, now: float) -> None:
        while output.budget > 0:
            request = self._deadlines.pop_due(now)
            if request is None:
                break
            if request.status is not RUNNING:
                self._num_held_back -= 1
                self._let_in(request)
            elif request.is_prefill_chunk:
                if not self._schedule_chunk(request, output, now):
                    break
            elif not self._schedule_tokens(request, output, now):
                break

    def _schedule_chunk(self, request: Request, output: SchedulerOutput, now: float) -> bool:
        lacking = request.num_tokens - request.num_computed_tokens
        num_tokens = min(lacking, self._threshold or lacking, output.budget)
        if not self._allocate_or_preempt(request, num_tokens, output, now):
            return not self._self_preemption_ends_pass()
        self._compute(request, num_tokens, output)
        return True

    def _schedule_tokens(self, request: Request, output: SchedulerOutput, now: float) -> bool:
        """All tokens that are due. Its first token has been computed with the prompt and is only said; to say any other
        the one before has to be computed."""
        pacing = request.pacing
        assert pacing is not None
        num_tokens = request.num_tokens
        computed = request.num_computed_tokens
        num_due = min(self._max_tokens_per_result, request.check_at - num_tokens)
        if pacing.itl > 0.0 and num_due > 1:
            said = num_tokens - request.num_prompt_tokens
            num_due = max(1, min(num_due, int((now - request.pace_origin) / pacing.itl) - said + 1))
        to_compute = min(num_tokens + num_due - 1 - computed, output.budget)
        if computed + to_compute >= request.num_slots and to_compute:
            to_compute = self._allocate_as_one_by_one(request, to_compute, output, now)
            if not to_compute:
                return not self._self_preemption_ends_pass()
        request.num_computed_tokens = computed = computed + to_compute
        request.num_in_flight_tokens += to_compute
        output.add(request, to_compute, computed + 1 - num_tokens)
        return True

    def _allocate_as_one_by_one(self, request: Request, num_tokens: int, output: SchedulerOutput, now: float) -> int:
        """Blocks for at most `num_tokens`; where they are scarce only up to the next block edge, so that nobody is
        preempted earlier than by single steps. Returns how many tokens found room, 0 if `request` was preempted."""
        if self.kv_cache.allocate_slots(request, num_tokens):
            return num_tokens
        room = request.num_slots - request.num_computed_tokens or self.config.block_size
        num_tokens = min(num_tokens, room)
        return num_tokens if self._allocate_or_preempt(request, num_tokens, output, now) else 0

    def _schedule_waiting(self, output: SchedulerOutput, now: float) -> None:
        super()._schedule_waiting(output, now)
        self._admission_pass += 1

    def _take_seat(self, request: Request, num_hit_tokens: int, now: float) -> None:
        """A request admitted by the first pass that saw it is on time, however late the driver woke; any other says its
        next token (`ttft` - `queue`) after it got its seat."""
        super()._take_seat(request, num_hit_tokens, now)
        pacing = request.pacing
        assert pacing is not None
        if request.admission_pass == self._admission_pass:
            due = request.arrival_time + pacing.ttft
        else:
            due = now + pacing.ttft - pacing.queue
        request.pace_origin = due - request.num_output_tokens * pacing.itl

    # --- update()

    def update(self, output: SchedulerOutput, now: float) -> list[RequestOutput]:
        results = super().update(output, now)
        for request in output.requests:
            if request.status is not RUNNING:
                continue
            if request.is_prefill_chunk:
                self._deadlines.set(request, now)
            else:
                assert request.pacing is not None
                said = request.num_tokens - request.num_prompt_tokens
                self._deadlines.set(request, request.pace_origin + said * request.pacing.itl)
        return results
