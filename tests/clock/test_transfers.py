"""Loads and leases under a driver: they have times of their own, between steps and while nothing else happens."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mockvllm.clock import VirtualClock
from mockvllm.clock.driver import Driver
from mockvllm.engine import (
    Engine,
    EngineCore,
    Fixed,
    KVConnector,
    KVConnectorConfig,
    Linear,
    Pacing,
    Request,
    RequestStatus,
    SchedulerConfig,
    StepTime,
)

REMOTE = {
    "do_remote_prefill": True,
    "remote_block_ids": [[1, 2]],
    "remote_engine_id": "P",
    "remote_request_id": "r",
    "remote_host": "h",
    "remote_port": 1,
}
step_times = st.sampled_from([Linear(0.04), Linear(0.013, 0.001), Fixed(Pacing(ttft=0.3, itl=0.04))])


class Word:
    end = None

    def token(self, index: int) -> int:
        return 5

    def tokens(self, start: int, stop: int) -> list[int]:
        return [5] * (stop - start)


class Server:
    def __init__(self, step_time: StepTime, *, asynchronous: bool = True, **options: float) -> None:
        self.clock = VirtualClock()
        connector = KVConnector(KVConnectorConfig(engine_id="D", **options))  # type: ignore[arg-type]
        config = SchedulerConfig(num_gpu_blocks=60, max_num_seqs=3, async_scheduling=asynchronous)
        self.engine = Engine(config, step_time, kv_connector=connector)
        self.failed: list[str] = []
        self.said: list[tuple[float, str]] = []
        self.driver = Driver(
            EngineCore(self.engine),
            self.clock,
            lambda results, now: self.said.extend((now, result.request.request_id) for result in results),
            lambda request: self.failed.append(request.request_id),
        )

    def ask(self, name: str, at: float, params: object, max_tokens: int = 3, prompt: int = 32) -> Request:
        ids = range(len(self.said) * 100, len(self.said) * 100 + prompt)
        r = Request(name, ids, max_tokens, Word(), at, kv_transfer_params=params)  # type: ignore[arg-type]
        self.clock.call_at(at, lambda: self.driver.add(r))
        return r


@given(
    step_times,
    st.booleans(),
    st.sampled_from([0.0, 0.001, 0.0137]),
    st.lists(
        st.tuples(st.floats(0, 1), st.sampled_from([REMOTE, REMOTE, None, {"do_remote_prefill": True}])), min_size=1
    ),
)
@settings(max_examples=100, deadline=None)
def test_nobody_is_forgotten(
    step_time: StepTime, asynchronous: bool, seconds: float, plan: list[tuple[float, dict[str, object] | None]]
) -> None:
    server = Server(step_time, asynchronous=asynchronous, fetch_seconds_per_token=seconds)
    requests = [server.ask(str(index), at, params) for index, (at, params) in enumerate(plan)]
    server.clock.run(until=1000)
    for r, (_, params) in zip(requests, plan, strict=True):
        assert r.status is RequestStatus.FINISHED
        lost = params is not None and "remote_host" not in params
        assert (r.request_id in server.failed) is lost
        assert r.num_output_tokens == (0 if lost else 3)
    assert server.engine.num_free_blocks == 59


@pytest.mark.parametrize("step_time", [Linear(0.04), Fixed(Pacing(ttft=0.3, itl=0.04))], ids=["linear", "fixed"])
def test_a_load_ends_when_it_ends_though_nothing_else_happens(step_time: StepTime) -> None:
    server = Server(step_time, fetch_seconds_per_token=0.01)
    server.ask("d", 1.0, REMOTE)
    server.clock.run(until=100)
    assert [round(at, 6) for at, _ in server.said] == [1.36, 1.40, 1.44]  # 32 tokens, then a step each


def test_a_lease_ends_when_it_ends_though_nothing_else_happens() -> None:
    server = Server(Linear(0.04), lease=12.0)
    server.ask("p", 1.0, {"do_remote_decode": True}, max_tokens=1)
    server.clock.run(until=13.03)
    assert server.engine.num_free_blocks == 57
    server.clock.run(until=13.05)
    assert server.engine.num_free_blocks == 59


def test_a_stopped_driver_moves_nothing() -> None:
    server = Server(Linear(0.04), fetch_seconds_per_token=0.01)
    r = server.ask("d", 1.0, REMOTE)
    server.clock.run(until=1.1)
    server.driver.stop()
    server.clock.run(until=100)
    assert r.status is RequestStatus.WAITING_FOR_REMOTE_KVS
