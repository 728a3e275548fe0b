"""Prefill for another engine and decode of what it computed, step by step and under `fixed`. Times are seconds."""

from typing import Any

import pytest
from workloads import config, request

from mockvllm.engine import (
    Engine,
    EngineCore,
    EngineListener,
    Fixed,
    KVConnector,
    KVConnectorConfig,
    Linear,
    Pacing,
    Request,
    RequestStatus,
    StepTime,
)

PREFILL = {"do_remote_decode": True, "do_remote_prefill": False}
STEPS = Linear(1.0)
LOADING = RequestStatus.WAITING_FOR_REMOTE_KVS


class Node:
    """An engine with a connector, and the loop that drives it from tick to tick."""

    def __init__(self, name: str, step_time: StepTime = STEPS, **options: Any) -> None:
        own = {key: options.pop(key) for key in list(options) if key in KVConnectorConfig.__struct_fields__}
        fails = options.pop("load_fails", lambda request_id: False)
        self.connector = KVConnector(KVConnectorConfig(engine_id=name, **own), lambda id: f"{id}-0", fails)
        self.scheduled: list[tuple[str, int]] = []
        listener = _Seats(self.scheduled)
        self.engine = Engine(config(**options), step_time, listeners=[listener], kv_connector=self.connector)
        self.core = EngineCore(self.engine)
        self.failed: list[Request] = []
        self.said: dict[str, list[float]] = {}

    def run(self, start: float, stop: float) -> None:
        """Every whole second from `start` to `stop`: what the connector's clock brings, then one step."""
        for now in range(int(start), int(stop) + 1):
            self.failed += self.engine.advance_transfers(now)
            while self.core.has_work and self.core.begin(now) is not None:
                for result in self.core.complete(now):
                    self.said.setdefault(result.request.request_id, []).append(now)
                if not self.engine.paced:
                    break

    @property
    def num_held(self) -> int:
        return self.engine.kv_cache.pool.num_usable_blocks - self.engine.num_free_blocks


class _Seats(EngineListener):
    def __init__(self, scheduled: list[tuple[str, int]]) -> None:
        self.seats = scheduled

    def scheduled(self, request: Request, num_hit_tokens: int, now: float) -> None:
        self.seats.append((request.request_id, num_hit_tokens))


def prefill(node: Node, prompt: int = 40, now: float = 0, **options: Any) -> Request:
    """A prompt computed for somebody else; ends by `now` + 3."""
    r = request("p", prompt, max_tokens=1, at=now, kv_transfer_params=PREFILL, **options)
    node.engine.add(r, now)
    node.run(now, now + 3)
    return r


def decode(params: Any, prompt: int = 40, name: str = "d", **options: Any) -> Request:
    ids = request("p", prompt).prompt_token_ids
    return request(name, prompt_token_ids=ids, kv_transfer_params=params, **options)


def pair(step_time: StepTime = STEPS, **options: Any) -> tuple[Node, Node, dict[str, Any]]:
    """A prefill server that has computed a prompt, a decode server that can tell it so, and where the KV is."""
    node, other = Node("P", step_time), Node("D", step_time, fetch_seconds_per_token=0.1, **options)
    other.connector.notify = lambda source, notice: node.engine.hear(notice, source.request_id, 0)
    return node, other, dict(prefill(node).finished_kv_transfer_params or {})


both = pytest.mark.parametrize("step_time", [STEPS, Fixed(Pacing(ttft=2, itl=1))], ids=["steps", "fixed"])


@both
def test_the_answer_to_a_prefill_says_where_its_blocks_are(step_time: StepTime) -> None:
    node = Node("P", step_time, host="pod-7", port=5601, tp_size=4, pp_size=2, dcp_size=2)
    first = prefill(node)
    assert list((first.finished_kv_transfer_params or {}).items()) == [
        ("do_remote_prefill", True),
        ("do_remote_decode", False),
        ("remote_block_ids", [[1, 2, 3]]),
        ("remote_engine_id", "P"),
        ("remote_request_id", "p-0"),
        ("remote_host", "pod-7"),
        ("remote_port", 5601),
        ("tp_size", 4),
        ("dcp_size", 2),
        ("pp_size", 2),
        ("remote_num_tokens", 40),
        ("remote_blocks_expiry_time", None),
        ("remote_registration_generation", 1),
        ("transfer_mode", "pull"),
        ("remote_prefill_cached_tokens", 0),
    ]
    again = prefill(node, now=10)
    assert (again.finished_kv_transfer_params or {})["remote_prefill_cached_tokens"] == 32


@both
def test_blocks_are_kept_for_a_lease_and_not_a_second_longer(step_time: StepTime) -> None:
    node = Node("P", step_time, lease=30.0, num_gpu_blocks=7)
    r = prefill(node)
    ended = int(r.finished_at or 0)
    waiting = request("next", 80, max_tokens=1)
    node.engine.add(waiting, ended)  # needs five of the six blocks
    node.run(ended, ended + 29)
    assert (node.num_held, waiting.status) == (3, RequestStatus.WAITING)
    node.run(ended + 30, ended + 40)
    assert waiting.status is RequestStatus.FINISHED
    assert node.num_held == 0


@pytest.mark.parametrize(("params", "reason"), [(None, None), ({}, None), (PREFILL, "stop"), (PREFILL, "abort")])
def test_nothing_is_kept_for_who_does_not_ask_or_is_aborted(params: Any, reason: Any) -> None:
    """A stop string aborts the request in the engine, which then keeps nothing (vLLM)."""
    node = Node("P")
    r = request("p", 40, max_tokens=9, kv_transfer_params=params)
    node.engine.add(r, 0)
    node.run(0, 4)
    if reason:
        node.engine.abort(r, 4, reason)
    node.run(5, 20)
    assert r.status is RequestStatus.FINISHED
    assert r.finished_kv_transfer_params is None
    assert node.num_held == 0


@both
def test_a_decode_request_loads_computes_its_last_token_and_frees_the_other_sides_blocks(step_time: StepTime) -> None:
    node, other, params = pair(step_time)
    r = decode(params, max_tokens=3)
    other.engine.add(r, 0)
    other.run(0, 3)
    assert (r.status, other.engine.num_waiting, other.engine.num_deferred, other.engine.num_running) == (
        LOADING,
        1,
        1,
        0,
    )
    assert (node.num_held, other.num_held) == (3, 3)
    other.run(4, 4)  # 40 tokens at 0.1 s
    assert (r.status, node.num_held, other.engine.num_deferred) == (RequestStatus.RUNNING, 0, 0)
    assert (r.num_cached_tokens, r.num_external_computed_tokens, r.reported_cached_tokens) == (40, 40, 0)
    other.run(5, 20)
    assert r.num_output_tokens == 3
    assert other.said["d"][0] == 5  # one step after the load; under `fixed` an itl, not a ttft
    assert other.num_held == 0


def test_what_was_loaded_is_found_by_the_next_request_but_only_once_it_is_there() -> None:
    _, other, params = pair()
    other.engine.add(decode(params), 0)
    early, late = decode(None, name="early", max_tokens=1), decode(None, name="late", max_tokens=1)
    other.engine.add(early, 0)
    other.run(0, 2)
    assert early.num_cached_tokens == 0
    other.run(3, 6)
    other.engine.add(late, 7)
    other.run(7, 9)
    assert late.num_cached_tokens == 32


def test_only_what_is_not_cached_here_is_fetched() -> None:
    _, other, params = pair()
    other.engine.add(decode(None, name="warm", max_tokens=1), 0)
    other.run(0, 3)
    r = decode(params)
    other.engine.add(r, 4)
    other.run(4, 6)  # 8 tokens: 0.8 s
    assert (r.num_external_computed_tokens, r.num_cached_tokens) == (8, 40)
    assert other.scheduled[-1] == ("d", 32)


def test_who_loads_is_in_nobodys_way_and_takes_its_seat_before_those_who_wait() -> None:
    _, other, params = pair(max_num_seqs=1)
    r, quick, queued = decode(params), request("quick", 20, max_tokens=6), request("queued", 20, max_tokens=1)
    for each in (r, quick, queued):
        other.engine.add(each, 0)
    other.run(0, 30)
    assert [name for name, _ in other.scheduled] == ["quick", "d", "queued"]


def test_loads_keep_their_order_whichever_is_over_first() -> None:
    node, other, params = pair(max_num_seqs=1)
    long = request("p", 80, max_tokens=1, kv_transfer_params=PREFILL, prompt_token_ids=range(5000, 5080))
    node.engine.add(long, 10)
    node.run(10, 13)
    busy = request("busy", 20, max_tokens=12)
    slow = request(
        "slow",
        prompt_token_ids=long.prompt_token_ids,
        kv_transfer_params=long.finished_kv_transfer_params,
        max_tokens=2,
    )
    fast = decode(params, max_tokens=2)
    for each in (slow, fast):
        other.engine.add(each, 0)
    other.run(0, 0)
    other.engine.add(busy, 1)
    other.run(1, 60)
    assert [name for name, _ in other.scheduled] == ["busy", "slow", "d"]


@pytest.mark.parametrize("when", [0, 2, 5])
def test_an_abort_leaves_no_block_behind_on_either_side(when: int) -> None:
    node, other, params = pair()
    r = decode(params, max_tokens=50)
    other.engine.add(r, 0)
    other.run(0, when)
    other.engine.abort(r, when)
    assert (node.num_held, other.num_held, other.engine.num_waiting) == (0, 0, 0)
    other.run(when + 1, 20)
    assert other.said.keys() <= {"d"}
    assert other.engine.num_running == 0


MISSING = [
    {"do_remote_prefill": True},
    {"remote_block_ids": []},
    {"remote_block_ids": [[]]},
    {"remote_block_ids": "1,2"},
    {"remote_block_ids": [["1"]]},
    {"remote_host": None},
    {"remote_port": "5600"},
]


@both
@pytest.mark.parametrize("change", MISSING[1:])
def test_a_load_that_fails_ends_the_request(step_time: StepTime, change: dict[str, Any]) -> None:
    _, other, params = pair(step_time)
    r, bystander = decode(params | change, max_tokens=3), request("b", 20, max_tokens=3)
    for each in (r, bystander):
        other.engine.add(each, 0)
    other.run(0, 20)
    assert other.failed == [r]
    assert (r.status, r.finish_reason, r.num_cached_tokens) == (RequestStatus.FINISHED, "error", 0)
    assert bystander.num_output_tokens == 3
    assert other.num_held == 0


@both
@pytest.mark.parametrize("warm", [False, True])
def test_or_its_prompt_is_computed_here(step_time: StepTime, warm: bool) -> None:
    _, other, _ = pair(step_time, load_failure_policy="recompute")
    if warm:
        other.engine.add(decode(None, name="warm", max_tokens=1), 0)
        other.run(0, 5)
    r = decode({"do_remote_prefill": True}, max_tokens=3, at=6)
    other.engine.add(r, 6)
    other.run(6, 40)
    assert (r.num_output_tokens, r.num_external_computed_tokens) == (3, 0)
    assert r.num_cached_tokens == (32 if warm else 0)
    assert not other.failed
    assert other.num_held == 0


@both
def test_one_engine_may_be_both_sides_and_its_own_blocks_are_read_once(step_time: StepTime) -> None:
    node = Node("P", step_time)
    params = dict(prefill(node).finished_kv_transfer_params or {})
    several = [decode(params, name=name, max_tokens=2) for name in ("d", "e")]  # the choices of one request
    for r in several:
        node.engine.add(r, 5)
    node.run(5, 15)
    assert [r.num_output_tokens for r in several] == [2, 2]
    assert node.num_held == 0
    late = decode(params, name="late", max_tokens=2)
    node.engine.add(late, 20)
    node.run(20, 25)
    assert late.finish_reason == "error"


def test_some_loads_fail_and_others_do_not() -> None:
    _, other, params = pair(load_fails=lambda request_id: request_id == "bad")
    bad, good = decode(params, name="bad"), decode(params, name="good")
    for r in (good, bad):
        other.engine.add(r, 0)
    other.run(0, 20)
    assert other.failed == [bad]
    assert good.num_output_tokens == 5


def test_who_waits_for_a_seat_on_the_decode_side_keeps_the_lease_alive() -> None:
    node, other = Node("P", lease=6.0), Node("D", lease=6.0, max_num_seqs=1)
    clock = {"now": 0.0}
    other.connector.notify = lambda source, notice: node.engine.hear(notice, source.request_id, clock["now"])
    params = dict(prefill(node).finished_kv_transfer_params or {})
    other.engine.add(request("busy", 20, max_tokens=40), 3)
    r = decode(params, max_tokens=1)
    other.engine.add(r, 3)
    for now in range(3, 60):
        clock["now"] = now
        other.run(now, now)
        node.run(now, now)
        assert node.num_held == (3 if r.num_external_computed_tokens == 0 or r.status is LOADING else 0)
    assert r.status is RequestStatus.FINISHED


def test_a_lease_of_a_prefill_whose_decode_never_comes_ends_by_itself() -> None:
    node, other, params = pair()
    node.engine.discard_remote_blocks(params, 4)  # not this engine's business: the request is another one's
    assert node.num_held == 0
    node, other, params = pair()
    other.engine.discard_remote_blocks({**params, "do_remote_prefill": False}, 4)
    assert node.num_held == 3
    other.engine.discard_remote_blocks(params, 4)
    assert node.num_held == 0


def test_short_prompts_are_computed_where_fetching_is_not_worth_it() -> None:
    node, other, params = pair(recompute_threshold=64)
    r = decode(params, max_tokens=1)
    other.engine.add(r, 0)
    other.run(0, 3)
    assert (r.num_output_tokens, r.num_external_computed_tokens) == (1, 0)
    assert node.num_held == 0


@pytest.mark.parametrize(("told", "reported"), [(24, 24), (9999, 40), (-5, 0), ("x", 40), (None, 40)])
def test_usage_reports_what_was_cached_where_the_prompt_was_computed(told: Any, reported: int) -> None:
    _, other, params = pair()
    r = decode(params | {"remote_prefill_cached_tokens": told})
    other.engine.add(r, 0)
    other.run(0, 20)
    assert r.reported_cached_tokens == reported
    assert r.num_cached_tokens == 40
