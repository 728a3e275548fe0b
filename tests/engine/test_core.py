"""The tick: synchronous, or with a second batch scheduled before the first one's tokens are known."""

from collections.abc import Sequence

import pytest
from workloads import EOS, Words, linear, play_steps, request

from mockvllm.engine import (
    Engine,
    EngineCore,
    EngineListener,
    PauseState,
    Request,
    RequestOutput,
    SchedulerOutput,
    SchedulerStats,
)


class Log(EngineListener):
    """One word an event."""

    def __init__(self) -> None:
        self.words: list[str] = []

    def queued(self, request: Request, now: float) -> None:
        self.words.append(f"queued:{request.request_id}")

    def scheduled(self, request: Request, num_hit_tokens: int, now: float) -> None:
        self.words.append(f"scheduled:{request.request_id}+{num_hit_tokens}")

    def preempted(self, request: Request, num_computed_tokens: int, num_blocks: int, now: float) -> None:
        self.words.append(f"preempted:{request.request_id}-{num_computed_tokens}/{num_blocks}")

    def batch(self, output: SchedulerOutput, now: float) -> None:
        self.words.append(f"batch:{output.num_scheduled_tokens}")

    def finished(self, request: Request, num_blocks: int, now: float) -> None:
        self.words.append(f"finished:{request.request_id}/{num_blocks}")

    def step(self, results: Sequence[RequestOutput], stats: SchedulerStats, now: float) -> None:
        self.words.append(f"step:{''.join(r.request.request_id for r in results)} {stats.num_running_reqs}")


def played(engine: Engine, *requests: Request) -> list[list[tuple[str, int, str | None]]]:
    for r in requests:
        engine.add(r, 0.0)
    return [
        [(result.request.request_id, result.num_new_tokens, result.finish_reason) for result in results]
        for results in play_steps(EngineCore(engine))
    ]


def test_synchronous_a_token_comes_in_its_own_tick() -> None:
    ticks = played(linear(async_scheduling=False), request("a", max_tokens=2))
    assert ticks == [[("a", 1, None)], [("a", 1, "length")], []]


def test_asynchronous_it_comes_one_tick_later() -> None:
    ticks = played(linear(), request("a", max_tokens=2))
    assert ticks == [[], [("a", 1, None)], [("a", 1, "length")], [], []]


@pytest.mark.parametrize(
    ("options", "wasted"),
    [
        ({"max_tokens": 4}, 0),
        ({"max_tokens": 9, "outputs": Words({3: EOS}), "eos_token_id": EOS}, 1),
        ({"max_tokens": 9, "outputs": Words({3: 3}), "stop_token_ids": [3]}, 1),
        ({"max_tokens": 9, "outputs": Words(end=4)}, 1),
        ({"max_tokens": 9, "prompt": 60}, 0),
    ],
)
def test_asynchronous_limits_are_foreseen_other_ends_cost_a_token(options: dict[str, object], wasted: int) -> None:
    log = Log()
    r = request("a", **options)
    played(linear(listeners=[log], max_model_len=64), r)
    assert r.num_output_tokens == 4
    assert sum(word.startswith("batch:[") and word != "batch:[]" for word in log.words) == 4 + wasted


def test_events_of_a_life_in_order() -> None:
    log = Log()
    played(linear(listeners=[log], async_scheduling=False), request("a", prompt=20, max_tokens=2))
    assert log.words == [
        *("queued:a", "scheduled:a+0", "batch:[20]", "step:a 1"),
        *("batch:[1]", "finished:a/2", "step:a 0", "batch:[]", "step: 0"),
    ]


def test_a_preemption_tells_what_is_lost() -> None:
    log = Log()
    engine = linear(listeners=[log], async_scheduling=False, num_gpu_blocks=5, enable_prefix_caching=False)
    played(engine, request("a", prompt=16, max_tokens=20), request("b", prompt=16, max_tokens=20))
    assert "preempted:b-32/2" in log.words
    assert log.words.count("scheduled:b+0") == 2


def test_an_abort_while_the_step_runs_drops_its_token_and_frees_at_once() -> None:
    engine = linear(num_gpu_blocks=11)
    core = EngineCore(engine)
    a, b = request("a"), request("b")
    engine.add(a, 0.0)
    engine.add(b, 0.0)
    assert core.begin(0.0) is None
    assert core.begin(1.0) is not None
    engine.abort(a, 1.5)
    assert engine.num_free_blocks == 8
    assert [result.request.request_id for result in core.complete(2.0)] == ["b"]
    assert (a.num_output_tokens, a.finish_reason, a.finished_at) == (0, "abort", 1.5)


def test_an_unknown_or_finished_request_is_not_aborted() -> None:
    engine = linear()
    a, stranger = request("a"), request("b")
    played(engine, a)
    engine.abort(a, 99.0)
    engine.abort(stranger, 99.0)
    assert (a.finish_reason, stranger.finish_reason) == ("length", None)


def test_a_stop_string_ends_a_request_with_stop() -> None:
    engine = linear()
    a = request("a")
    engine.add(a, 0.0)
    engine.abort(a, 1.0, "stop")
    assert a.finish_reason == "stop"


@pytest.mark.parametrize("async_scheduling", [False, True])
def test_a_reset_with_running_requests_says_every_token_once(async_scheduling: bool) -> None:
    engine = linear(async_scheduling=async_scheduling)
    core = EngineCore(engine)
    a = request("a", max_tokens=9)
    engine.add(a, 0.0)
    said = 0
    for tick in range(40):
        if tick in (3, 5):
            assert engine.reset_prefix_cache(True, tick)
        if core.has_work and core.begin(tick) is not None:
            said += sum(result.num_new_tokens for result in core.complete(tick))
    assert (said, a.num_output_tokens, a.num_preemptions, a.finish_reason) == (9, 9, 2, "length")


def test_a_reset_fails_while_blocks_are_held() -> None:
    engine = linear(async_scheduling=False)
    engine.add(request("a"), 0.0)
    engine.schedule(0.0)
    assert not engine.reset_prefix_cache(False, 0.0)


def test_paused_nothing_is_admitted_and_waiting_requests_are_no_work() -> None:
    engine = linear(async_scheduling=False)
    core = EngineCore(engine)
    engine.pause(PauseState.PAUSED_NEW, 0.0)
    engine.add(request("a", max_tokens=1), 0.0)
    assert not core.has_work
    engine.resume(1.0)
    assert [len(results) for results in play_steps(core)] == [1, 0]


def test_paused_all_stops_running_requests_too() -> None:
    engine = linear(async_scheduling=False)
    engine.add(request("a"), 0.0)
    engine.update(engine.schedule(0.0), 0.0)
    engine.pause(PauseState.PAUSED_ALL, 0.0)
    assert engine.schedule(1.0).requests == []
    engine.resume(2.0)
    assert engine.schedule(2.0).num_scheduled_tokens == [1]
