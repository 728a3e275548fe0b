"""One tick of vLLM's engine core, for whoever drives it: a live clock, a virtual one, or a scenario's counter."""

from collections import deque

from mockvllm.engine.engine import Engine
from mockvllm.engine.output import RequestOutput, SchedulerOutput

BATCH_QUEUE_SIZE = 2  # asynchronous: the batch that runs, and the one scheduled behind it


class EngineCore:
    """What arrived since the last tick (requests, aborts, utility calls) goes to the engine first; then a tick is

        batch = core.begin(now)
        if batch is not None:  # wait until it has run; aborts may come meanwhile
            results = core.complete(now)

    Synchronous, a batch starts to run when it is scheduled; asynchronous, when it is scheduled and the one before it is
    complete. It takes `step_seconds` from then.
    """

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._batches: deque[SchedulerOutput] = deque()
        self._queue_size = BATCH_QUEUE_SIZE if engine.async_scheduling else 1

    @property
    def has_tokens_under_way(self) -> bool:
        """Whether a batch that is scheduled and not yet complete computes anything."""
        return any(batch.total_num_scheduled_tokens for batch in self._batches)

    @property
    def has_work(self) -> bool:
        """Whether a tick would do anything, now or (`fixed`) at the engine's next deadline."""
        return bool(self._batches) or self.engine.has_requests

    def begin(self, now: float) -> SchedulerOutput | None:
        """Schedules the next batch if there is anything to schedule, and returns the one to wait for now: the oldest.
        None: the tick ends here; asynchronous, go on with the next tick while there is work."""
        engine = self.engine
        if engine.paced:
            deadline = engine.next_deadline()
            if deadline is None or deadline > now:
                return None
        elif not engine.has_requests:
            return self._batches[0] if self._batches else None
        batch = engine.schedule(now)
        self._batches.append(batch)
        if len(self._batches) < self._queue_size and (batch.total_num_scheduled_tokens or engine.has_requests):
            return None
        return self._batches[0]

    def leap(self, ends_at: float, horizon: float) -> float:
        """The batch that `begin` returned runs until `ends_at`: as `Engine.leap`."""
        return self.engine.leap(self._batches, ends_at, horizon)

    def complete(self, now: float) -> list[RequestOutput]:
        """The batch that `begin` returned has run."""
        return self.engine.update(self._batches.popleft(), now)
