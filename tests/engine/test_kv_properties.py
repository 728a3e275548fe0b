"""An engine that computes prompts for another, and for itself, with aborts, lost notices, short leases: no leaks."""

from dataclasses import dataclass

from hypothesis import event, given, settings
from hypothesis import strategies as st
from test_kv_transfer import LOADING, Node
from workloads import request

from mockvllm.engine import Fixed, Linear, Pacing, Request, RequestStatus, StepTime

BLOCK_SIZE = 4
LONGEST = 40
TICKS = 2000
FINISHED = RequestStatus.FINISHED


@dataclass
class Plan:
    """A prompt that is computed on one node, and then said on another."""

    at: int
    family: int
    prompt: int
    max_tokens: int
    on_own_node: bool
    aborts_prefill_after: int | None
    decodes_after: int
    aborts_decode_after: int | None
    notice_is_lost: bool

    def token_ids(self, index: int) -> list[int]:
        shared = [self.family * 100 + i for i in range(self.prompt // 2)]
        return shared + [10_000 + index * 100 + i for i in range(self.prompt - len(shared))]


plans = st.builds(
    Plan,
    at=st.integers(0, 12),
    family=st.integers(1, 2),
    prompt=st.integers(1, LONGEST - 8),
    max_tokens=st.integers(1, 8),
    on_own_node=st.booleans(),
    aborts_prefill_after=st.none() | st.none() | st.integers(0, 9),
    decodes_after=st.integers(0, 20),
    aborts_decode_after=st.none() | st.none() | st.integers(0, 9),
    notice_is_lost=st.booleans(),
)
step_times = st.sampled_from([Linear(1.0), Fixed(Pacing(ttft=2.0, itl=1.0))])
options = st.fixed_dictionaries(
    {
        "num_gpu_blocks": st.integers(LONGEST // BLOCK_SIZE + 2, 24),
        "max_num_seqs": st.integers(1, 4),
        "max_num_batched_tokens": st.integers(4, 80),
        "policy": st.sampled_from(["fcfs", "priority"]),
        "enable_prefix_caching": st.booleans(),
        "async_scheduling": st.booleans(),
        "lease": st.sampled_from([3.0, 12.0]),
        "load_failure_policy": st.sampled_from(["fail", "recompute"]),
        "fetch_seconds_per_token": st.sampled_from([0.0, 0.25]),
    }
)


class Exchange:
    """One plan on its way."""

    def __init__(self, plan: Plan, index: int) -> None:
        self.plan = plan
        self.index = index
        ids = plan.token_ids(index)
        params = {"do_remote_decode": True}
        name = f"p{index}"
        self.rank = index / 1000  # no two of the same: those may evict each other for good
        at = plan.at - self.rank
        self.prefill = request(name, prompt_token_ids=ids, max_tokens=1, at=at, kv_transfer_params=params)
        self.decode: Request | None = None
        self.decode_at = TICKS

    def step(self, here: Node, there: Node, now: int) -> None:
        plan, prefill = self.plan, self.prefill
        if now == plan.at:
            here.engine.add(prefill, now)
        if plan.aborts_prefill_after is not None and now == plan.at + plan.aborts_prefill_after:
            here.engine.abort(prefill, now)
        if (
            self.decode is None
            and prefill.status is FINISHED
            and now >= (prefill.finished_at or 0) + plan.decodes_after
        ):
            self._begin_decode(here if plan.on_own_node else there, now)
        if self.decode is not None and now == self.decode_at + (plan.aborts_decode_after or TICKS):
            (here if plan.on_own_node else there).engine.abort(self.decode, now)

    def _begin_decode(self, node: Node, now: int) -> None:
        self.decode_at = now
        self.decode = request(
            f"d{self.index}",
            prompt_token_ids=self.plan.token_ids(self.index),
            max_tokens=self.plan.max_tokens,
            at=now - 0.5 - self.rank,
            kv_transfer_params=self.prefill.finished_kv_transfer_params,
        )
        node.engine.add(self.decode, now)


def count_blocks(node: Node) -> None:
    """Every block is free, or held by a request that runs or loads, or by a lease."""
    scheduler = node.engine.scheduler
    requests = [*scheduler.running, *scheduler.waiting, *scheduler.skipped_waiting]  # type: ignore[attr-defined]
    held = {block for r in requests for block in r.block_ids} | set(node.connector.leases.block_ids)
    assert len(held) == node.num_held
    loading = [r for r in requests if r.status is LOADING]
    assert node.engine.num_deferred >= node.engine.num_loading == len(loading)
    assert node.engine.num_waiting == len(scheduler.waiting) + len(loading) + _held_back(node)


def _held_back(node: Node) -> int:
    return getattr(node.engine.scheduler, "_num_held_back", 0)


@given(step_times, options, st.lists(plans, min_size=2, max_size=8))
@settings(max_examples=250, deadline=None)
def test_no_block_leaks_and_everybody_ends(step_time: StepTime, options: dict[str, object], plans: list[Plan]) -> None:
    nodes = [Node(name, step_time, block_size=BLOCK_SIZE, **options) for name in ("P", "D")]
    now = 0
    lost = {f"p{index}-0" for index, plan in enumerate(plans) if plan.notice_is_lost}
    nodes[1].connector.notify = lambda source, notice: (
        None if source.request_id in lost else nodes[0].engine.hear(notice, source.request_id, now)
    )
    exchanges = [Exchange(plan, index) for index, plan in enumerate(plans)]
    for tick in range(TICKS):
        now = tick
        for exchange in exchanges:
            exchange.step(*nodes, tick)
        for node in nodes:
            node.run(tick, tick)
            count_blocks(node)
        over = all(exchange.decode is not None and exchange.decode.status is FINISHED for exchange in exchanges)
        if over and not any(node.num_held for node in nodes):
            break
    for exchange in exchanges:
        _check(exchange)
    assert [node.num_held for node in nodes] == [0, 0], "a block leaked"
    assert [len(node.connector.leases) for node in nodes] == [0, 0]
    assert [node.connector.num_fetches for node in nodes] == [0, 0]


def _check(exchange: Exchange) -> None:
    decode, plan = exchange.decode, exchange.plan
    assert decode is not None
    assert decode.status is FINISHED
    event(f"{decode.finish_reason}, {'fetched' if decode.num_external_computed_tokens else 'computed'}")
    if decode.finish_reason == "length":
        assert decode.num_output_tokens == plan.max_tokens
        assert 0 <= decode.num_external_computed_tokens <= decode.num_cached_tokens <= plan.prompt
