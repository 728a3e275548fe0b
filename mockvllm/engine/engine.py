"""The engine: requests in, batches and tokens out. Time is an argument, and the same calls give the same answers."""

from bisect import bisect_left
from collections import deque
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any

from mockvllm.engine.block_pool import CountedBlockPool
from mockvllm.engine.config import SchedulerConfig
from mockvllm.engine.hashing import HashBlock, hash_block
from mockvllm.engine.kv_cache import KVCacheManager, PrefixCacheStats
from mockvllm.engine.kv_connector import KVConnector, Notice
from mockvllm.engine.kv_events import KVEvent
from mockvllm.engine.kv_transfer import KVTransfers, PacedTransferScheduler, TransferScheduler
from mockvllm.engine.listener import EngineListener, Listeners
from mockvllm.engine.lockstep_scheduler import LockstepScheduler
from mockvllm.engine.output import RequestOutput, SchedulerOutput, SchedulerStats
from mockvllm.engine.paced import PacedScheduler
from mockvllm.engine.request import FinishReason, Request, RequestStatus
from mockvllm.engine.scheduler import PauseState, Scheduler
from mockvllm.engine.spread import front_end_of
from mockvllm.engine.step_time import Fixed, Linear, StepTime
from mockvllm.profiles import load
from mockvllm.profiles.scheduler import SchedulerRules

MOST = 4096  # steps in a leap: what is told of them is kept small
NOTHING_COUNTED = PrefixCacheStats()  # of most updates; one for all, never changed


class Engine:
    """vLLM V1's scheduler and KV cache with a model of step time in place of a GPU.

    `rules` are those of a release (default: 0.33.0); ValueError if `config` sets an option that it lacks. Under
    `Fixed` scheduling is synchronous whatever `config.async_scheduling` says, and a result carries at most
    `max_tokens_per_result` tokens.

    With `lockstep` (not under `Fixed`) requests that decode alike are advanced together. Everything happens as it does
    without, but `update` returns no results for their tokens (`SchedulerStats.num_lockstep_tokens` counts them), and
    what the engine keeps on them is up to date only when they end, when they are preempted, and after `settle`.

    With a `kv_connector` (never in lockstep) prompts may be computed for other engines, or by them.
    """

    def __init__(
        self,
        config: SchedulerConfig,
        step_time: StepTime,
        hash_block: HashBlock = hash_block,
        listeners: Sequence[EngineListener] = (),
        *,
        rules: SchedulerRules | None = None,
        max_tokens_per_result: int = 16,
        lockstep: bool = False,
        kv_connector: KVConnector | None = None,
    ) -> None:
        self.config = config
        self.step_time = step_time
        self.front_end = front_end_of(step_time)
        self.paced = isinstance(step_time, Fixed)
        self.kv_connector = kv_connector
        self.lockstep = lockstep and not self.paced and kv_connector is None
        self._steps_grow = not isinstance(step_time, Linear) or step_time.per_kv_token > 0
        self.async_scheduling = config.async_scheduling and not self.paced
        self._listeners = Listeners(listeners)
        self._kv_events: list[KVEvent] = []
        counted = self.lockstep and not config.enable_prefix_caching
        self.kv_cache = KVCacheManager(
            config,
            hash_block,
            self._kv_events if self._listeners.kv else None,
            CountedBlockPool(config.num_gpu_blocks) if counted else None,
        )
        rules = rules or load("0.33").scheduler
        config.check_release(rules)
        self.scheduler: Scheduler
        if isinstance(step_time, Fixed):
            paced = PacedTransferScheduler if kv_connector else PacedScheduler
            self.scheduler = paced(config, rules, self.kv_cache, self._listeners, step_time, max_tokens_per_result)
        else:
            kind = LockstepScheduler if self.lockstep else TransferScheduler if kv_connector else Scheduler
            self.scheduler = kind(config, rules, self.kv_cache, self._listeners, self.async_scheduling)
        self._leaping: LockstepScheduler | None = None
        if isinstance(self.scheduler, LockstepScheduler) and self._listeners.can_leap:
            self._leaping = self.scheduler
        if kv_connector is not None and isinstance(self.scheduler, KVTransfers):
            kv_connector.leases.pool = self.kv_cache.pool
            self.scheduler.connect(kv_connector)

    def add(self, request: Request, now: float) -> None:
        """Puts a request into the waiting queue. A prompt that never fits the KV cache blocks the queue, as in vLLM."""
        self.scheduler.add(request, now)

    def abort(self, request: Request, now: float, reason: FinishReason = "abort") -> None:
        """Ends a request; seat and blocks are free at once. Nothing happens if it is unknown or finished.

        `reason` is what listeners are told: a front end that found a stop string aborts with `stop`.
        """
        if request.status not in (RequestStatus.NEW, RequestStatus.FINISHED):
            self.scheduler.abort(request, now, reason)

    def schedule(self, now: float) -> SchedulerOutput:
        """The next batch, possibly empty."""
        output = self.scheduler.schedule(now)
        if not self.paced:
            output.step_seconds = self.step_time.seconds(output)
        for tell in self._listeners.batch:
            tell(output, now)
        return output

    def update(self, output: SchedulerOutput, now: float) -> list[RequestOutput]:
        """Delivers the tokens of a batch; batches are updated in the order in which they were scheduled."""
        results = self.scheduler.update(output, now)
        if self._kv_events:
            events = self.take_kv_events()
            for tell_kv in self._listeners.kv:
                tell_kv(events, now)
        for tell_tokens in self._listeners.tokens:
            tell_tokens(results, now)
        if self._listeners.step:
            stats = self._make_stats()
            for tell in self._listeners.step:
                tell(results, stats, now)
        return results

    def leap(self, batches: deque[SchedulerOutput], ends_at: float, horizon: float) -> float:
        """Many steps at once, those in which the members of the lockstep get their tokens and nothing else happens.

        `batches` are in flight, the first one until `ends_at`. While it ends before `horizon` it is updated, and
        another one scheduled. Returns when the batch ends that is the first then.
        """
        scheduler = self._leaping
        if scheduler is None or ends_at >= horizon or not scheduler.only_members_take_part():
            return ends_at
        usual = batches[-1].step_seconds
        free_blocks = scheduler.foreseen_steps(int(min((horizon - ends_at) / usual + 2, MOST)) if usual else MOST)
        if len(free_blocks) == 1:
            return ends_at
        ends = self._take_steps(scheduler, batches, free_blocks, ends_at, horizon)
        times = ends[:-1]
        scheduler.leapt(len(times), times[-1])
        usages = self.kv_cache.usages_with(free_blocks[: len(times)])
        for tell in self._listeners.leapt:
            tell(self._make_stats(), times, usages)
        return ends[-1]

    def _take_steps(
        self,
        scheduler: LockstepScheduler,
        batches: deque[SchedulerOutput],
        free_blocks: Sequence[int],
        ends_at: float,
        horizon: float,
    ) -> list[float]:
        """As many of the foreseen steps as end before `horizon`. Returns when each ends, and the batch behind them."""
        batch, most = batches[0], len(free_blocks) - 1
        durations = [batch.step_seconds for batch in batches][1:]  # of what comes behind the first
        if self._steps_grow:
            ends = [ends_at]
            while len(ends) <= most and ends[-1] < horizon:
                scheduler.take_foreseen_steps(1, free_blocks[len(ends) - 1] - free_blocks[len(ends)])
                durations.append(self.step_time.seconds(batch))
                ends.append(ends[-1] + durations[len(ends) - 1])
        else:
            durations += [self.step_time.seconds(batch)] * most
            ends = list(accumulate(durations[:most], initial=ends_at))
            del ends[bisect_left(ends, horizon) + 1 :]
            scheduler.take_foreseen_steps(len(ends) - 1, free_blocks[0] - free_blocks[len(ends) - 1])
        count = len(ends) - 1
        batches.rotate(-count)
        for batch, seconds in zip(batches, durations[count - 1 :], strict=False):
            batch.step_seconds = seconds
        return ends

    def advance_transfers(self, now: float) -> list[Request]:
        """To be called when the connector's `alarms` ring: loads and leases that are over by now end. Returns the
        requests that failed because their load did; they have ended (`error`)."""
        return self.scheduler.advance_transfers(now) if isinstance(self.scheduler, KVTransfers) else []

    def hear(self, notice: Notice, lease_id: str, now: float) -> None:
        """Another engine says something about blocks that are kept here for it."""
        if isinstance(self.scheduler, KVTransfers):
            self.scheduler.connector.hear(notice, lease_id, now)
            self.scheduler.blocks_came_free(now)

    def discard_remote_blocks(self, params: Mapping[str, Any], now: float) -> None:
        """A request with these `kv_transfer_params` was refused: whoever keeps blocks for it may let them go."""
        if isinstance(self.scheduler, KVTransfers):
            self.scheduler.connector.discard(params, now)
            self.scheduler.blocks_came_free(now)

    def next_deadline(self) -> float | None:
        """`fixed`: when schedule() has something to do; a time that has passed means at once. None otherwise."""
        return self.scheduler.next_deadline()

    @property
    def has_requests(self) -> bool:
        """Whether a step has anything to do: requests, or (unless paced) a finish not yet passed on by schedule()."""
        return self.scheduler.has_requests()

    @property
    def num_running(self) -> int:
        return len(self.scheduler.running)

    @property
    def num_waiting(self) -> int:
        return self.scheduler.num_waiting

    @property
    def num_deferred(self) -> int:
        """Of those who wait: those whose KV is being fetched, or was, and who have no seat yet."""
        return len(self.scheduler.skipped_waiting) if isinstance(self.scheduler, KVTransfers) else 0

    @property
    def num_loading(self) -> int:
        """Of the deferred: those whose KV is on its way."""
        return self.scheduler.num_loading if isinstance(self.scheduler, KVTransfers) else 0

    @property
    def num_free_blocks(self) -> int:
        return self.kv_cache.pool.num_free_blocks

    def pause(self, state: PauseState, now: float) -> None:
        """Stops admission (PAUSED_NEW) or everything (PAUSED_ALL) until `resume`."""
        self.scheduler.pause(state, now)

    def resume(self, now: float) -> None:
        self.scheduler.resume(now)

    def reset_prefix_cache(self, reset_running: bool, now: float) -> bool:
        """Forgets all cached blocks; False, and nothing forgotten, while a block is held. `reset_running` preempts all
        running requests first."""
        return self.scheduler.reset_prefix_cache(reset_running, now)

    def settle(self) -> None:
        """Brings every request up to date that decodes in lockstep."""
        self.scheduler.settle()

    def take_kv_events(self) -> list[KVEvent]:
        """KV events that no update has passed on yet, and no update will."""
        events = self._kv_events[:]
        self._kv_events.clear()
        return events

    def _make_stats(self) -> SchedulerStats:
        counted = self.kv_cache.prefix_cache_stats
        if counted.requests or counted.preempted_requests:
            self.kv_cache.prefix_cache_stats = PrefixCacheStats()
        else:
            counted = NOTHING_COUNTED
        return SchedulerStats(
            len(self.scheduler.running),
            self.scheduler.num_waiting,
            self.kv_cache.usage,
            counted,
            self.scheduler.num_lockstep_tokens,
        )
