"""Runs a scenario tick by tick on the engine that the server runs, and returns its trace."""

from collections import deque

from mockvllm.engine import Engine, EngineCore, Linear, PauseState, Request
from mockvllm.profiles import Profile
from mockvllm.simulation.scenario import Action, Scenario, ScenarioRequest, engine_request
from mockvllm.simulation.scenario_summary import JSON
from mockvllm.simulation.scenario_trace import TraceRecorder

STALLED_AFTER = 4  # ticks without progress, with nothing still to arrive


def run_scenario(scenario: Scenario, profile: Profile) -> JSON:
    """`{"summary": ..., "requests": ..., "steps": ...}`; an aggregate scenario gives the summary only.

    Raises ValueError if the scenario's config sets an option that the release does not have.
    """
    return _Run(scenario, profile).run()


class _Run:
    def __init__(self, scenario: Scenario, profile: Profile) -> None:
        self.scenario = scenario
        self.recorder = TraceRecorder(scenario)
        self.engine = Engine(scenario.config, Linear(0.0), listeners=[self.recorder], rules=profile.scheduler)
        self.recorder.engine = self.engine
        self.core = EngineCore(self.engine)
        self.requests: dict[str, Request] = {}
        self.slots: dict[str, int] = {}  # closed loop: which slot a request was sent from
        self.arrivals = deque(sorted(scenario.requests, key=lambda request: request.at))
        self.actions = deque(sorted(scenario.actions, key=lambda action: action.at))
        self.aborts_during_step: list[str] = []
        if scenario.closed_loop is not None:
            for slot in range(min(len(scenario.closed_loop.slots), scenario.closed_loop.total)):
                self._send_from(slot, tick=0)

    def run(self) -> JSON:
        tick = idle = 0
        while self._anything_left():
            idle = 0 if self._tick(tick) else idle + 1
            if idle >= STALLED_AFTER and not (self.arrivals or self.actions):
                return self.recorder.trace(tick, stalled=True)
            tick += 1
            if self.scenario.max_ticks is not None and tick > self.scenario.max_ticks:
                return self.recorder.trace(tick, stalled=True)
        return self.recorder.trace(tick, stalled=False)

    def _anything_left(self) -> bool:
        return bool(self.arrivals or self.actions or self.engine.num_waiting) or self.core.has_work

    def _tick(self, tick: int) -> bool:
        while self.actions and self.actions[0].at <= tick:
            self._act(self.actions.popleft(), tick)
        while self.arrivals and self.arrivals[0].at <= tick:
            self._add(self.arrivals.popleft(), tick)
        stepped = self.core.has_work
        if stepped:
            self._step(tick)
        elif events := self.engine.take_kv_events():
            self.recorder.kv(events, tick)
        return self.recorder.end_of_tick(tick, stepped)

    def _step(self, tick: int) -> None:
        if self.core.begin(tick) is None:
            return
        for request_id in self.aborts_during_step:
            self._abort(request_id, tick)
        self.aborts_during_step.clear()
        for result in self.core.complete(tick):
            if result.finish_reason is not None and self.slots:
                self._send_from(self.slots.pop(result.request.request_id), tick + 1)

    def _act(self, action: Action, tick: int) -> None:
        match action.do:
            case "abort":
                for request_id in action.ids:
                    self._abort(request_id, tick)
            case "abort_mid":
                self.aborts_during_step += action.ids
            case "reset_prefix_cache":
                self.recorder.reset_done(self.engine.reset_prefix_cache(action.running, tick))
            case "pause":
                self.engine.pause(PauseState[action.mode], tick)
            case "resume":
                self.engine.resume(tick)

    def _add(self, request: ScenarioRequest, tick: int) -> None:
        added = self.requests[request.id] = engine_request(request, len(self.requests))
        self.engine.add(added, tick)

    def _abort(self, request_id: str, tick: int) -> None:
        if request_id in self.requests:
            self.engine.abort(self.requests[request_id], tick)

    def _send_from(self, slot: int, tick: int) -> None:
        """The closed loop's next request, if there is one."""
        loop = self.scenario.closed_loop
        index = len(self.requests) + len(self.arrivals)
        if loop is not None and index < loop.total:
            request = loop.request(index, slot, tick)
            self.slots[request.id] = slot
            self.arrivals.append(request)
