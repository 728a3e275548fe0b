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
from mockvllm.engine.output import SchedulerOutput
from mockvllm.engine.request import Request, RequestStatus
from mockvllm.engine.scheduler import RUNNING, PauseState, Scheduler
from mockvllm.engine.step_time import Fixed
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
        fixed: Fixed,
        max_tokens_per_result: int,
    ) -> None:
        super().__init__(config, rules, kv_cache, listeners, async_scheduling=False)
        self._deadlines = Deadlines()
        self._fixed = fixed
        self._max_tokens_per_result = max_tokens_per_result
        self._num_added = 0
        self._num_held_back = 0  # requests whose queue time has not passed
        self._admission_pass = 0
        self._admission_is_due = False
        self._now = 0.0
        self._paused_at = 0.0

    # --- requests come and go

    def _enqueue(self, request: Request, now: float) -> None:
        self._now = now
        self._num_added += 1
        request.arrival_number = self._num_added
        request.pacing = request.pacing or self._fixed.pacing_of(request.request_id)
        request.itl = request.pacing.itl
        eligible = request.arrival_time + request.pacing.queue
        if eligible > now:
            self._num_held_back += 1
            self._deadlines.set(request, eligible)
        else:
            self._let_in(request)

    def _let_in(self, request: Request) -> None:
        request.admission_pass = self._admission_pass
        self.waiting.add_request(request)
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

    def _schedule_running(self, output: SchedulerOutput, now: float) -> None:
        """The hot loop of `fixed`: everybody who is due, once. Whoever is due again by then has to wait for the next
        step, which comes at once."""
        self._now = now
        self._admission_is_due = False
        deadlines = self._deadlines
        for request in deadlines.take(now) if output.budget > 0 else ():
            if request.status is not RUNNING:
                self._queue_time_has_passed(request)
            elif (when := self._schedule_due(request, output, now)) > now:
                deadlines.set(request, when)
            elif request.status is RUNNING:
                deadlines.set_again(request, now)
            elif self._self_preemption_ends_pass():
                break
            if output.budget <= 0:
                break

    def _queue_time_has_passed(self, request: Request) -> None:
        request.next_deadline = None
        self._num_held_back -= 1
        self._let_in(request)

    def _schedule_due(self, request: Request, output: SchedulerOutput, now: float) -> float:
        """All tokens that are due, or the next piece of the prompt. Returns when the request is due next; it may have
        been preempted for want of blocks.

        The first token was computed with the prompt and is only said; to say any other the one before is computed.
        """
        if request.is_prefill_chunk:
            return self._schedule_chunk(request, output, now)
        num_tokens, computed = request.num_tokens, request.num_computed_tokens
        num_new = 1
        next_due = request.pace_origin + (num_tokens - request.num_prompt_tokens + 1) * request.itl
        if next_due <= now:
            num_new = self._num_due(request, now)
        to_compute = num_tokens + num_new - 1 - computed
        end = computed + to_compute
        if to_compute > output.budget or (end >= request.num_slots and to_compute):
            to_compute = self._allocate_as_one_by_one(request, min(to_compute, output.budget), output, now)
            if not to_compute:
                return now
            end = computed + to_compute
        request.num_computed_tokens = end
        request.num_in_flight_tokens += to_compute
        output.requests.append(request)
        output.num_scheduled_tokens.append(to_compute)
        output.num_new_tokens.append(end + 1 - num_tokens)
        output.budget -= to_compute
        return next_due if num_new == 1 else request.due_at(end + 1)

    def _num_due(self, request: Request, now: float) -> int:
        """How many tokens of a request that is due more than once one result carries."""
        allowed = request.max_tokens_per_result or self._max_tokens_per_result
        most = min(allowed, request.check_at - request.num_tokens)
        if request.itl <= 0.0:
            return most
        num_tokens = request.num_tokens
        num_due = min(most, int((now - request.due_at(num_tokens)) / request.itl) + 1)
        while num_due > 1 and request.due_at(num_tokens + num_due - 1) > now:  # the division may have rounded up
            num_due -= 1
        return max(1, num_due)

    def _schedule_chunk(self, request: Request, output: SchedulerOutput, now: float) -> float:
        lacking = request.num_tokens - request.num_computed_tokens
        num_tokens = min(lacking, self._threshold or lacking, output.budget)
        if not self._allocate_or_preempt(request, num_tokens, output, now):
            return now
        self._compute(request, num_tokens, output)
        if request.is_prefill_chunk:
            return now
        return request.due_at(request.num_tokens)

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
        if output.budget <= 0 or (output.requests and not self.config.enable_chunked_prefill):
            self._admission_is_due = True  # the head may have been refused for want of tokens, of which there are more

    def _take_seat(self, request: Request, num_hit_tokens: int, num_tokens: int, now: float) -> None:
        """A request admitted by the first pass that saw it is on time, however late the driver woke; any other says its
        next token (`ttft` - `queue`) after it got its seat. The rest of a prompt that was split is due at once."""
        super()._take_seat(request, num_hit_tokens, num_tokens, now)
        pacing = request.pacing or self._fixed.pacing
        on_time = request.admission_pass == self._admission_pass
        due = request.arrival_time + pacing.ttft if on_time else now + pacing.ttft - pacing.queue
        request.pace_origin = due - request.num_output_tokens * request.itl
        self._deadlines.set(request, now if num_tokens < request.num_tokens - num_hit_tokens else due)
