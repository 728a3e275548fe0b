"""vLLM V1's scheduler: in every step each request gets the tokens it lacks, running ones first, within one budget.

Text generation with one full-attention KV group; no speculation, pipeline parallelism or LoRA limit; what a KV
connector adds is in `kv_transfer.py`. What differs among releases comes in as `SchedulerRules`.
"""

import enum
from typing import ClassVar

from mockvllm.engine.config import SchedulerConfig
from mockvllm.engine.kv_cache import KVCacheManager
from mockvllm.engine.listener import Listeners
from mockvllm.engine.output import RequestOutput, SchedulerOutput
from mockvllm.engine.prefill_interval import PrefillInterval
from mockvllm.engine.queue import FCFSRequestQueue, PriorityRequestQueue, RequestQueue
from mockvllm.engine.request import FinishReason, Request, RequestStatus
from mockvllm.engine.stop import check_stop
from mockvllm.profiles.scheduler import SchedulerRules

WAITING = RequestStatus.WAITING
RUNNING = RequestStatus.RUNNING
FINISHED = RequestStatus.FINISHED


class PauseState(enum.Enum):
    """PAUSED_NEW: nobody is admitted. PAUSED_ALL: nothing is scheduled."""

    UNPAUSED = "unpaused"
    PAUSED_NEW = "paused_new"
    PAUSED_ALL = "paused_all"


UNPAUSED = PauseState.UNPAUSED


class Scheduler:
    """`running` is an ordered set: the order of admission."""

    NEW_TOKENS_OF_PREFILL: ClassVar[int] = 1  # how many tokens the step that completes a prompt brings
    num_lockstep_tokens = 0  # how many the last update brought without a result for each

    def __init__(
        self,
        config: SchedulerConfig,
        rules: SchedulerRules,
        kv_cache: KVCacheManager,
        listeners: Listeners,
        async_scheduling: bool,
    ) -> None:
        self.config = config
        self.rules = rules
        self.kv_cache = kv_cache
        self.running: dict[Request, None] = {}
        self.waiting: RequestQueue = PriorityRequestQueue() if config.policy == "priority" else FCFSRequestQueue()
        self.pause_state = UNPAUSED
        self.finished_since_schedule = False
        self._listeners = listeners
        self._placeholder = 1 if async_scheduling else 0
        self._max_running = config.max_num_active_seqs or config.max_num_seqs
        self._token_budget = config.max_num_scheduled_tokens or config.max_num_batched_tokens
        self._threshold = 0
        self._interval: PrefillInterval | None = None
        if config.prefill_schedule_interval > 1 and rules.prefill_schedule_interval_without_dp:
            self._interval = PrefillInterval(config.prefill_schedule_interval)

    # --- requests come and go

    def add(self, request: Request, now: float) -> None:
        request.status = WAITING
        request.queued_at = now
        check_stop(request, self.config.max_model_len)
        self._enqueue(request, now)
        for tell in self._listeners.queued:
            tell(request, now)

    def _enqueue(self, request: Request, now: float) -> None:
        self.waiting.add_request(request)

    def abort(self, request: Request, now: float, reason: FinishReason = "abort") -> None:
        """Frees seat and blocks at once; what is in flight for it will be ignored."""
        request.finish_reason = reason
        self._leave_queue(request)
        self._release(request, now)

    def _leave_queue(self, request: Request) -> None:
        if request.status is RUNNING:
            del self.running[request]
        else:
            self.waiting.remove_request(request)

    def _release(self, request: Request, now: float) -> None:
        num_blocks = self._free_request(request, now)
        request.status = FINISHED
        request.finished_at = now
        self.finished_since_schedule = True
        for tell in self._listeners.finished:
            tell(request, num_blocks, now)

    def _free_request(self, request: Request, now: float) -> int:
        """Takes its blocks from a request that ends; returns how many it held."""
        return self.kv_cache.free(request)

    @property
    def num_waiting(self) -> int:
        return len(self.waiting)

    def pause(self, state: PauseState, now: float) -> None:
        self.pause_state = state

    def resume(self, now: float) -> None:
        self.pause_state = UNPAUSED

    def next_deadline(self) -> float | None:
        """Only under `fixed`: when schedule() has something to do."""
        return None

    def settle(self) -> None:
        """Brings the fields of all requests up to date."""

    def has_requests(self) -> bool:
        """Whether there is anything to schedule, or a finish that the next schedule() has yet to pass on."""
        if self.running or self.finished_since_schedule:
            return True
        return self.pause_state is UNPAUSED and len(self.waiting) > 0

    # --- schedule()

    def schedule(self, now: float) -> SchedulerOutput:
        """The next batch, which may be empty."""
        self.finished_since_schedule = False
        budget = 0 if self.pause_state is PauseState.PAUSED_ALL else self._token_budget
        output = SchedulerOutput(budget)
        if self.config.long_prefill_token_threshold:
            self._threshold = self._prefill_threshold()
        if self._interval:
            self._interval.begin(self.running)
        self._schedule_running(output, now)
        admits = not output.preempted and self.pause_state is UNPAUSED
        if admits and self.waiting:
            self._schedule_waiting(output, now)
        output.total_num_scheduled_tokens = budget - output.budget
        if self._interval:
            self._interval.end(output, len(self.waiting) if admits else None)
        return output

    def _prefill_threshold(self) -> int:
        """The most tokens of one prompt in one step; 0: no limit."""
        threshold = self.config.long_prefill_token_threshold
        eligible = len(self.running) + len(self.waiting)
        if eligible <= 1 and not self.rules.threshold_applies_to_lone_request:
            return 0
        if self.config.long_prefill_token_threshold_adaptive:
            return max(threshold, self.config.max_num_batched_tokens // max(1, eligible))
        return threshold

    def _schedule_running(self, output: SchedulerOutput, now: float) -> None:
        """The hot loop of step-wise scheduling: most requests decode and stay within the blocks they hold."""
        requests, scheduled, new = output.requests, output.num_scheduled_tokens, output.num_new_tokens
        last_position = self.config.max_model_len - 1
        held = self._interval is not None and self._interval.held
        placeholder = self._placeholder
        budget = output.budget
        for request in self._listed():
            if budget <= 0:
                break
            if (output.preempted and request.status is not RUNNING) or (held and request.is_prefill_chunk):
                continue
            placeholders = request.num_output_placeholders
            computed = request.num_computed_tokens
            if placeholders and computed + 2 - placeholders >= request.max_num_tokens:
                continue  # its last token is on its way already
            lacking = num_tokens = request.num_tokens + placeholders - computed
            if num_tokens != 1 or computed >= last_position:
                num_tokens = min(num_tokens, self._threshold or num_tokens, budget, last_position - computed)
                if num_tokens <= 0:
                    continue
            end = computed + num_tokens
            if end >= request.num_slots:
                output.budget = budget
                fits = self._allocate_or_preempt(request, num_tokens, output, now)
                budget = output.budget
                if not fits:
                    if self._self_preemption_ends_pass():
                        break
                    continue
            request.num_computed_tokens = end
            request.num_in_flight_tokens += num_tokens
            requests.append(request)
            scheduled.append(num_tokens)
            budget -= num_tokens
            if num_tokens == lacking:
                request.is_prefill_chunk = False
                request.num_output_placeholders = placeholders + placeholder
                new.append(1)
            else:
                request.is_prefill_chunk = True
                new.append(0)
        output.budget = budget

    def _listed(self) -> list[Request]:
        """The running requests that a batch lists, in the order of their admission."""
        return list(self.running)

    def _self_preemption_ends_pass(self) -> bool:
        return self.config.policy == "fcfs" or self.rules.self_preemption_ends_priority_pass

    def _schedule_waiting(self, output: SchedulerOutput, now: float) -> None:
        """Admission in queue order; whoever does not fit stops it for all behind."""
        while output.budget > 0 and self.waiting and len(self.running) < self._max_running:
            if not self._admit(self.waiting.peek_request(), output, now):
                break

    def _admit(self, request: Request, output: SchedulerOutput, now: float) -> bool:
        hits = self.kv_cache.get_computed_blocks(request)
        num_hit_tokens = len(hits) * self.config.block_size
        lacking = request.num_tokens - num_hit_tokens
        num_tokens = self._num_admitted_tokens(lacking, output)
        if not (num_tokens and self.kv_cache.admit(request, hits, num_tokens, others_run=bool(self.running))):
            return False
        if self._interval:
            self._interval.admitted(lacking)
        self._take_seat(request, num_hit_tokens, num_tokens, now)
        self._compute(request, num_tokens, output)
        return True

    def _num_admitted_tokens(self, lacking: int, output: SchedulerOutput) -> int:
        """With how many of the tokens that it lacks a request may be admitted; 0: it has to wait."""
        if self._interval and self._interval.held and lacking > 1:
            return 0
        num_tokens = min(lacking, self._threshold or lacking)
        if num_tokens > output.budget and not self.config.enable_chunked_prefill:
            return 0
        return min(num_tokens, output.budget)

    def _take_seat(self, request: Request, num_hit_tokens: int, num_tokens: int, now: float) -> None:
        self.waiting.pop_request()
        self.running[request] = None
        request.status = RUNNING
        request.num_computed_tokens = num_hit_tokens
        if not request.num_preemptions:
            request.scheduled_at = now
            request.num_cached_tokens = num_hit_tokens
        if self.kv_cache.enable_caching and not request.skip_reading_prefix_cache:
            self.kv_cache.prefix_cache_stats.record(request, num_hit_tokens)
        for tell in self._listeners.scheduled:
            tell(request, num_hit_tokens, now)

    def _compute(self, request: Request, num_tokens: int, output: SchedulerOutput) -> None:
        """Adds a piece of a prompt to the batch."""
        request.num_computed_tokens += num_tokens
        request.num_in_flight_tokens += num_tokens
        request.is_prefill_chunk = request.num_computed_tokens < request.num_tokens
        if request.is_prefill_chunk:
            output.add(request, num_tokens, 0)
        else:
            request.num_output_placeholders += self._placeholder
            output.add(request, num_tokens, self.NEW_TOKENS_OF_PREFILL)

    # --- preemption

    def _allocate_or_preempt(self, request: Request, num_tokens: int, output: SchedulerOutput, now: float) -> bool:
        """Preempts one request after the other until `request` fits; False if it was the victim itself."""
        while not self.kv_cache.allocate_slots(request, num_tokens):
            victim = self._choose_victim()
            unscheduled = output.remove(victim)
            victim.num_computed_tokens -= unscheduled
            victim.num_in_flight_tokens -= unscheduled
            self._preempt(victim, now)
            output.preempted = True
            if victim is request:
                return False
        return True

    def _choose_victim(self) -> Request:
        if self.config.policy == "fcfs":
            return next(reversed(self.running))
        return max(self.running, key=lambda request: (request.priority, request.arrival_time))

    def _preempt(self, request: Request, now: float, drop_in_flight: bool = False) -> None:
        """Takes seat and blocks; its output stays. Tokens in flight are still delivered, unless dropped."""
        num_computed_tokens = request.num_computed_tokens
        del self.running[request]
        num_blocks = self.kv_cache.free(request)
        request.status = RequestStatus.PREEMPTED
        request.num_computed_tokens = request.num_output_placeholders = 0
        request.num_stale_tokens = request.num_in_flight_tokens
        request.drop_stale = drop_in_flight
        request.is_prefill_chunk = False
        request.num_preemptions += 1
        self.waiting.prepend_request(request)
        for tell in self._listeners.preempted:
            tell(request, num_computed_tokens, num_blocks, now)

    def reset_prefix_cache(self, reset_running: bool, now: float) -> bool:
        """Forgets all cached blocks; False while any is held. With `reset_running` all running requests are preempted
        first, and their tokens in flight are dropped."""
        if reset_running:
            for request in reversed(list(self.running)):
                self._preempt(request, now, drop_in_flight=True)
        return self.kv_cache.pool.reset_prefix_cache()

    # --- update()

    def update(self, output: SchedulerOutput, now: float) -> list[RequestOutput]:
        """Delivers the tokens of a batch and ends the requests that are done."""
        results: list[RequestOutput] = []
        placeholder = self._placeholder
        for request, num_tokens, num_new in zip(
            output.requests, output.num_scheduled_tokens, output.num_new_tokens, strict=True
        ):
            if request.status is FINISHED:
                continue
            in_flight = request.num_in_flight_tokens = request.num_in_flight_tokens - num_tokens
            stale = request.num_stale_tokens
            if stale:
                request.num_stale_tokens = stale - num_tokens
                if request.drop_stale:
                    continue
            if not num_new:
                continue
            request.num_tokens += num_new
            previous_token_at = request.last_token_at
            request.last_token_at = now
            if previous_token_at is None:
                request.first_token_at = now
            reason: FinishReason | None = None
            if request.num_tokens >= request.check_at:
                reason = check_stop(request, self.config.max_model_len)
            if not stale:
                request.num_output_placeholders -= placeholder
                if request.num_computed_tokens - in_flight >= request.hash_at:
                    self.kv_cache.cache_blocks(request, request.num_computed_tokens - in_flight)
            results.append(RequestOutput(request, num_new, reason, request.stop_reason, previous_token_at))
            if reason is not None:
                self._leave_queue(request)
                self._release(request, now)
        return results
