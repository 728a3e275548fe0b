"""The loop of vLLM's engine core under any clock: schedule, wait until the step is over, update, again."""

from collections.abc import Callable, Mapping
from typing import Any

from mockvllm.clock.protocol import Clock, Timer
from mockvllm.clock.virtual import VirtualClock
from mockvllm.engine import EngineCore, FinishReason, Notice, Request, RequestOutput, SchedulerOutput

STEPS_A_TICK = 2  # who gets a seat and is due at once need not wait for another turn of the event loop
MANY = 8  # of so many that spoke in a tick, the next ones may wait for each other (`Clock.slack`)
Deliver = Callable[[list[RequestOutput], float], None]


class Driver:
    """Runs one engine on one clock. All calls come from the clock's own thread; none of them waits.

    What arrives (`add`, `abort`) is known to the next `schedule()`. Steps that follow each other without a pause end at
    absolute times, so that waking late once does not make every later step late.

    `fail` is told of requests that the engine gave up: there is no result to deliver (a KV load that failed).
    """

    def __init__(
        self, core: EngineCore, clock: Clock, deliver: Deliver, fail: Callable[[Request], None] = lambda request: None
    ) -> None:
        self.core = core
        self.clock = clock
        self._deliver = deliver
        self._running: SchedulerOutput | None = None
        self._running_until = 0.0
        self._woken = False
        self._stopped = False
        self._timer: Timer | None = None
        self._at_the_door: dict[Request, Timer] = {}
        self._tick = self._paced_tick if core.engine.paced else self._step_tick
        self._fail = fail
        self._alarm: Timer | None = None
        connector = core.engine.kv_connector
        if connector is not None:
            connector.alarms.ring = self._set_alarm
        self._virtual = clock if isinstance(clock, VirtualClock) and core.engine.lockstep else None

    def add(self, request: Request) -> None:
        """Into the engine's queue, at once or when the front end is through with it (`roofline`)."""
        engine = self.core.engine
        if engine.front_end is None:
            engine.add(request, self.clock.now())
            self.wake()
            return
        through_at = self.clock.now() + engine.front_end(engine.num_running)
        self._at_the_door[request] = self.clock.call_at(through_at, lambda: self._enter(request))

    def _enter(self, request: Request) -> None:
        self._at_the_door.pop(request, None)
        self.core.engine.add(request, self.clock.now())
        self.wake()

    def abort(self, request: Request, reason: FinishReason = "abort") -> None:
        """Seat and blocks are free when this returns; a no-op for a request that has ended."""
        timer = self._at_the_door.get(request)
        if timer is not None:
            timer.cancel()
            self._enter(request)
        self.core.engine.abort(request, self.clock.now(), reason)
        self.wake()

    def _set_alarm(self, when: float | None) -> None:
        """Loads and leases of a KV connector have times of their own, whatever the steps do."""
        if self._alarm is not None:
            self._alarm.cancel()
        self._alarm = None if when is None else self.clock.call_at(when, self._transfers_due)

    def _transfers_due(self) -> None:
        engine = self.core.engine
        if self._stopped or engine.kv_connector is None:
            return
        for request in engine.advance_transfers(self.clock.now()):
            self._fail(request)
        self._set_alarm(engine.kv_connector.alarms.next)
        self.wake()

    def hear(self, notice: Notice, lease_id: str) -> None:
        """As `Engine.hear`."""
        self.core.engine.hear(notice, lease_id, self.clock.now())
        self.wake()

    def discard_remote_blocks(self, params: Mapping[str, Any]) -> None:
        """As `Engine.discard_remote_blocks`."""
        self.core.engine.discard_remote_blocks(params, self.clock.now())
        self.wake()

    def stop(self) -> None:
        """The engine is gone: nothing is scheduled or delivered any more (vLLM's engine process on SIGTERM)."""
        self._stopped = True
        self._set_timer(None)

    def wake(self) -> None:
        """Let a tick happen as soon as what is happening right now is over, or the step that is under way."""
        if not self._woken:
            self._woken = True
            if self._running is None:
                self.clock.call_soon(self._wake_up)

    def _wake_up(self) -> None:
        self._woken = False
        if not self._stopped:
            self._tick()

    def _set_timer(self, when: float | None, callback: Callable[[], None] | None = None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self.clock.call_at(when, callback) if when is not None and callback else None

    def _paced_tick(self) -> None:
        """`fixed`: whoever is due speaks; a step takes no time. Few steps a tick, so that others get their turn."""
        core, now = self.core, self.clock.now()
        num_results = 0
        for _ in range(STEPS_A_TICK):
            if core.begin(now) is not None:
                results = core.complete(now)
                num_results += len(results)
                self._deliver(results, now)
            deadline = core.engine.next_deadline()
            if deadline is None or deadline > now:
                break
        if deadline is not None and deadline <= self.clock.now():
            self._set_timer(None)
            self.wake()
        else:
            if deadline is not None and num_results >= MANY:
                deadline = max(deadline, now + self.clock.slack)
            self._set_timer(deadline, self._wake_up)

    def _step_tick(self) -> None:
        self._begin_step(self.clock.now())
        self._wait()

    def _begin_step(self, starts_at: float) -> None:
        """Fill the batch queue; the oldest batch runs."""
        core, now = self.core, self.clock.now()
        self._woken = False
        batch = core.begin(now)
        while batch is None and core.has_work:
            batch = core.begin(now)
        self._running = batch
        if batch is not None:
            ends_at = starts_at + batch.step_seconds
            self._running_until = core.leap(ends_at, self._virtual.next_deadline()) if self._virtual else ends_at

    def _wait(self) -> None:
        """For the batch that runs. Virtual time moves on at once while nobody else wants anything."""
        while self._running is not None:
            if self._virtual is None or not self._virtual.skip_to(self._running_until):
                self._set_timer(self._running_until, self._step_done)
                return
            self._end_step()

    def _step_done(self) -> None:
        self._end_step()
        self._wait()

    def _end_step(self) -> None:
        batch, now = self._running, self.clock.now()
        self._deliver(self.core.complete(now), now)
        self._running = None
        if self._stopped or batch is None:
            return
        # After an empty step with nothing behind it, only an arrival, an abort or a resume can help who waits; or the
        # next step, if this one was empty because somebody was preempted.
        if batch.total_num_scheduled_tokens or batch.preempted or self._woken or self.core.has_tokens_under_way:
            self._begin_step(self._running_until)
