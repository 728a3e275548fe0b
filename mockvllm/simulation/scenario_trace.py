"""The trace of a scenario: one line a tick, one record a request, a summary. Keys are those of the recordings."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from mockvllm.engine import (
    BlockHash,
    BlockRemoved,
    BlockStored,
    Engine,
    EngineListener,
    KVEvent,
    Request,
    RequestOutput,
    SchedulerOutput,
    SchedulerStats,
)
from mockvllm.simulation.scenario import Scenario
from mockvllm.simulation.scenario_summary import JSON, Summary


class TraceRecorder(EngineListener):
    """Listens to an engine whose `now` is the tick. `end_of_tick` closes a line."""

    def __init__(self, scenario: Scenario) -> None:
        self.steps: list[JSON] = []
        self.requests: dict[str, JSON] = {}
        self.summary = Summary()
        self._config = scenario.config
        self._block_ids = scenario.block_ids
        self._keep_steps = scenario.record == "steps"
        self._line: defaultdict[str, list[Any]] = defaultdict(list)
        self._numbers: JSON = {}
        self._kind: dict[str, str] = {}
        self._blocks_shown: dict[str, int] = {}
        self._ordinals: dict[BlockHash, int] = {}
        self.engine: Engine

    # --- what the engine tells

    def queued(self, request: Request, now: float) -> None:
        self.requests[request.request_id] = {"added": int(now), "n_out": 0, "sched": 0, "preempted": 0, "lost": 0}
        self.summary.queued(request)

    def scheduled(self, request: Request, num_hit_tokens: int, now: float) -> None:
        name = request.request_id
        if request.num_preemptions:
            self._kind[name] = "r"
            self.requests[name].setdefault("resume_cached", []).append(num_hit_tokens)
        else:
            self._kind[name] = "n"
            self.requests[name]["first"] = int(now)
        self._blocks_shown[name] = 0
        if self._config.enable_prefix_caching and not request.skip_reading_prefix_cache:
            self._line["pc"].append([name, request.num_tokens, num_hit_tokens])

    def preempted(self, request: Request, num_computed_tokens: int, num_blocks: int, now: float) -> None:
        record = self.requests[request.request_id]
        record["preempted"] += 1
        record["lost"] += num_computed_tokens
        self.summary.preempted(request, num_computed_tokens)
        self._line["pre"].append([request.request_id, num_computed_tokens, num_blocks])

    def batch(self, output: SchedulerOutput, now: float) -> None:
        self.summary.batch(output, self.engine)
        self._numbers["fs"] = self.engine.num_free_blocks
        for request, num_tokens in zip(output.requests, output.num_scheduled_tokens, strict=True):
            name = request.request_id
            self.requests[name]["sched"] += num_tokens
            if self._keep_steps:
                before = request.num_computed_tokens - num_tokens
                self._line["s"].append([name, num_tokens, before, self._kind.pop(name, "c")])
                self._line["b"].append([name, request.block_ids[self._blocks_shown[name] :]])
                self._blocks_shown[name] = len(request.block_ids)

    def finished(self, request: Request, num_blocks: int, now: float) -> None:
        self.requests[request.request_id] |= {"done": int(now), "reason": request.finish_reason}
        self._line["fin"].append([request.request_id, request.finish_reason])

    def kv(self, events: Sequence[KVEvent], now: float) -> None:
        self._line["ev"] += [self._event(event) for event in events]

    def step(self, results: Sequence[RequestOutput], stats: SchedulerStats, now: float) -> None:
        for result in results:
            record = self.requests[result.request.request_id]
            record["n_out"] += result.num_new_tokens
            record.setdefault("first_out", int(now))
            record.setdefault("cached", result.request.num_cached_tokens)
            self._line["out"].append(result.request.request_id)
        self._numbers |= {"nrun": stats.num_running_reqs, "nwait": stats.num_waiting_reqs}

    # --- what the runner tells

    def reset_done(self, succeeded: bool) -> None:
        self._line["did"].append(["reset_prefix_cache", succeeded])

    def end_of_tick(self, tick: int, stepped: bool) -> bool:
        """Closes the line of a tick; whether anything progressed in it: tokens scheduled or said, or a finish."""
        line: JSON = {"t": tick} | self._line | self._numbers
        progressed = self.summary.scheduled_in_tick() or any(line.get(key) for key in ("out", "fin"))
        if stepped:
            line.setdefault("s", [])
            self._state_after(line)
        if not self._block_ids:
            line.pop("b", None)
        if not self._config.kv_events:
            line.pop("ev", None)
        if self._keep_steps and (stepped or len(line) > 1):
            self.steps.append(line)
        self._line.clear()
        self._numbers = {}
        return progressed

    def _state_after(self, line: JSON) -> None:
        running = list(self.engine.scheduler.running)
        self.summary.peak_running = max(self.summary.peak_running, len(running))
        if self._keep_steps:
            line["run"] = [request.request_id for request in running]
            line["wait"] = [request.request_id for request in self.engine.scheduler.waiting]
            line["held"] = [len(request.block_ids) for request in running]
            line["free"] = self.engine.num_free_blocks
            line["use"] = round(self.engine.kv_cache.usage, 6)

    def _event(self, event: KVEvent) -> list[Any]:
        if isinstance(event, BlockStored):
            parent = None if event.parent_block_hash is None else self._ordinal(event.parent_block_hash)
            hashes = [self._ordinal(block_hash) for block_hash in event.block_hashes]
            return ["S", hashes, parent, len(event.token_ids), event.block_size]
        if isinstance(event, BlockRemoved):
            return ["R", [self._ordinal(event.block_hash)]]
        return ["C"]

    def _ordinal(self, block_hash: BlockHash) -> int:
        return self._ordinals.setdefault(block_hash, len(self._ordinals))

    def trace(self, ticks: int, stalled: bool) -> JSON:
        """The finished trace."""
        trace: JSON = {"summary": self.summary.as_json(ticks, with_prefixes=not self._keep_steps)}
        if stalled:
            scheduler = self.engine.scheduler
            trace["summary"] |= {
                "stalled": True,
                "left_waiting": [request.request_id for request in scheduler.waiting],
                "left_running": [request.request_id for request in scheduler.running],
            }
        if self._keep_steps:
            trace |= {"requests": self.requests, "steps": self.steps}
        return trace
