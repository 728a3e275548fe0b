"""What a KV connector adds to a scheduler: blocks that outlive their request, and requests that wait for theirs (vLLM's
WAITING_FOR_REMOTE_KVS). Without a connector none of this exists.
"""

from collections.abc import Collection

from mockvllm.engine.kv_connector import KVConnector
from mockvllm.engine.output import SchedulerOutput
from mockvllm.engine.paced import PacedScheduler
from mockvllm.engine.queue import FCFSRequestQueue
from mockvllm.engine.request import FinishReason, Request, RequestStatus
from mockvllm.engine.scheduler import Scheduler

LOADING = RequestStatus.WAITING_FOR_REMOTE_KVS


class KVTransfers(Scheduler):
    """`skipped_waiting`: requests from the start of their load until they get a seat, in that order. They are in
    nobody's way; those whose load is over go before all who wait."""

    connector: KVConnector
    skipped_waiting: dict[Request, None]

    def connect(self, connector: KVConnector) -> None:
        """Before anything else."""
        self.connector = connector
        self.skipped_waiting = {}

    @property
    def num_waiting(self) -> int:
        return super().num_waiting + self.num_loading

    @property
    def num_loading(self) -> int:
        return sum(request.status is LOADING for request in self.skipped_waiting)

    # --- requests come and go

    def add(self, request: Request, now: float) -> None:
        self.connector.on_new_request(request, now)
        super().add(request, now)

    def abort(self, request: Request, now: float, reason: FinishReason = "abort") -> None:
        """Whoever is aborted leaves no blocks behind, here or elsewhere, be it for a stop string (vLLM)."""
        self.connector.forget(request, now)
        request.kv_transfer_params = None
        super().abort(request, now, reason)

    def _leave_queue(self, request: Request) -> None:
        self.skipped_waiting.pop(request, None)
        if request.status is not LOADING:
            super()._leave_queue(request)

    def _free_request(self, request: Request, now: float) -> int:
        lease_id = self.connector.request_finished(request)
        if lease_id is None:
            return super()._free_request(request, now)
        block_ids = self.kv_cache.take_blocks(request)
        self.connector.leases.hold(lease_id, block_ids, now)
        return len(block_ids)

    def _preempt(self, request: Request, now: float, drop_in_flight: bool = False) -> None:
        super()._preempt(request, now, drop_in_flight)
        self._put_loaded_first()

    # --- what the connector's clock brings

    def advance_transfers(self, now: float) -> list[Request]:
        """Loads that are over let their requests into the queue, leases that are over give their blocks back. Returns
        the requests that ended because their load failed."""
        failed: list[Request] = []
        arrived: list[Request] = []
        for request, succeeded in self.connector.advance(now):
            if succeeded:
                self._loaded(request)
            else:
                self._load_failed(request)
            if succeeded or self.connector.config.load_failure_policy == "recompute":
                request.status = RequestStatus.WAITING
                arrived.append(request)
            else:
                self._fail(request, now)
                failed.append(request)
        self._put_loaded_first(arrived)
        self.blocks_came_free(now)
        return failed

    def blocks_came_free(self, now: float) -> None:
        """Somebody outside of the scheduler gave some back, or has come to wait for them."""

    def _loaded(self, request: Request) -> None:
        """At least the last token is computed here, for there is nothing to sample from else."""
        if self.kv_cache.enable_caching:
            self.kv_cache.cache_blocks(request, request.num_computed_tokens)
        request.num_computed_tokens = min(request.num_computed_tokens, request.num_tokens - 1)

    def _load_failed(self, request: Request) -> None:
        """What was found here is kept, the rest is to be computed."""
        request.num_cached_tokens -= request.num_external_computed_tokens
        request.num_external_computed_tokens = 0
        request.num_computed_tokens = request.num_cached_tokens
        if request.num_computed_tokens:
            self.kv_cache.cache_blocks(request, request.num_computed_tokens)
        else:
            self.kv_cache.free(request)

    def _fail(self, request: Request, now: float) -> None:
        request.finish_reason = "error"
        self._leave_queue(request)
        self._release(request, now)

    def _put_loaded_first(self, arrived: Collection[Request] = ()) -> None:
        """Before all others, in the order in which their loads began. `arrived`: those not in the queue yet."""
        loaded = [request for request in self.skipped_waiting if request.status is not LOADING]
        for request in loaded:
            if request not in arrived:
                self.waiting.remove_request(request)
        for request in reversed(loaded):
            self.waiting.prepend_request(request)

    # --- schedule()

    def _schedule_waiting(self, output: SchedulerOutput, now: float) -> None:
        """By priority somebody who needs more blocks than are free may stand before those who hold some already. With
        nobody running they would wait for each other for good."""
        super()._schedule_waiting(output, now)
        holder = None if self.running else next((r for r in self.waiting if r.block_ids), None)
        if holder is not None:
            self.waiting.remove_request(holder)
            others, self.waiting = self.waiting, FCFSRequestQueue([holder])
            self._admit(holder, output, now)
            self.waiting, left = others, self.waiting
            for request in left:
                self.waiting.add_request(request)

    def _admit(self, request: Request, output: SchedulerOutput, now: float) -> bool:
        if request.block_ids:
            return self._admit_loaded(request, output, now)
        if not self.connector.wants_blocks(request):
            return super()._admit(request, output, now)
        hits = self.kv_cache.get_computed_blocks(request)
        num_hit_tokens = len(hits) * self.config.block_size
        num_external_tokens = self.connector.get_num_new_matched_tokens(request, num_hit_tokens)
        if num_external_tokens:
            return self._start_load(request, hits, num_external_tokens, now)
        admitted = super()._admit(request, output, now)
        if admitted:
            self.connector.forget(request, now)
            self.blocks_came_free(now)
        return admitted

    def _start_load(self, request: Request, hits: list[int], num_external_tokens: int, now: float) -> bool:
        """Blocks for the whole prompt, but no seat: that is needed only when there is something to compute."""
        others_run = bool(self.running)
        if not self.kv_cache.admit(request, hits, num_external_tokens, others_run=others_run, delay_cache_blocks=True):
            return False
        self.waiting.pop_request()
        self.skipped_waiting[request] = None
        request.status = LOADING
        request.num_external_computed_tokens = num_external_tokens
        request.num_computed_tokens = len(hits) * self.config.block_size + num_external_tokens
        request.num_cached_tokens = request.num_computed_tokens
        self.connector.start_load(request, now)
        return True

    def _admit_loaded(self, request: Request, output: SchedulerOutput, now: float) -> bool:
        """Its KV is here, all or in part; it only needs a seat, and blocks for what is to be computed."""
        lacking = request.num_tokens - request.num_computed_tokens
        num_tokens = self._num_admitted_tokens(lacking, output)
        if not (num_tokens and self.kv_cache.allocate_slots(request, num_tokens)):
            return False
        if self._interval:
            self._interval.admitted(lacking)
        num_computed_tokens, num_cached_tokens = request.num_computed_tokens, request.num_cached_tokens
        num_hit_tokens = num_cached_tokens - request.num_external_computed_tokens
        self._take_seat(request, num_hit_tokens, num_tokens, now)
        request.num_computed_tokens, request.num_cached_tokens = num_computed_tokens, num_cached_tokens
        self._compute(request, num_tokens, output)
        return True

    def _take_seat(self, request: Request, num_hit_tokens: int, num_tokens: int, now: float) -> None:
        self.skipped_waiting.pop(request, None)
        super()._take_seat(request, num_hit_tokens, num_tokens, now)


class TransferScheduler(KVTransfers):
    """Step by step."""


class PacedTransferScheduler(KVTransfers, PacedScheduler):
    """Under `fixed`. A request whose KV was fetched has no prompt to compute: its first token comes an `itl` after its
    seat, whatever its `ttft`."""

    def blocks_came_free(self, now: float) -> None:
        self._now = now
        self._admission_is_due = True

    def _admit_loaded(self, request: Request, output: SchedulerOutput, now: float) -> bool:
        admitted = super()._admit_loaded(request, output, now)
        if admitted and request.num_external_computed_tokens and not request.is_prefill_chunk:
            request.pace_origin = now + request.itl
            self._deadlines.set(request, request.pace_origin)
        return admitted
