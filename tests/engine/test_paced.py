"""Playbooks of `fixed`: requests in, (time, request, tokens) out."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from workloads import EOS, Said, Words, fixed, play_fixed, request

from mockvllm.engine import Engine, EngineCore, Pacing, PauseState, Request, RequestStatus

CHAIN = Pacing(queue=0.1, ttft=0.5, itl=0.04)


def one_each(name: str, first: float, itl: float, count: int) -> list[Said]:
    return [(round(first + k * itl, 9), name, 1) for k in range(count)]


@pytest.mark.parametrize("pacing", [CHAIN, Pacing(0.0, 0.3, 0.04), Pacing(0.25, 0.25, 0.007)])
def test_first_token_at_ttft_then_one_each_itl(pacing: Pacing) -> None:
    engine = fixed(pacing)
    a = request("a", prompt=2000, max_tokens=30, at=7.0)
    engine.add(a, 7.0)
    assert play_fixed(engine) == one_each("a", 7.0 + pacing.ttft, pacing.itl, 30)
    assert (a.queued_at, a.scheduled_at) == (7.0, 7.0 + pacing.queue)
    assert (a.first_token_at, a.last_token_at) == (
        7.0 + pacing.ttft,
        pytest.approx(7.0 + pacing.ttft + 29 * pacing.itl),
    )
    assert a.finish_reason == "length"


def test_during_its_queue_time_a_request_waits_and_holds_nothing() -> None:
    engine = fixed(CHAIN, num_gpu_blocks=201)
    engine.add(request("a", prompt=2000), 0.0)
    assert play_fixed(engine, until=0.09) == []
    assert (engine.num_waiting, engine.num_running, engine.num_free_blocks) == (1, 0, 200)
    assert play_fixed(engine, until=0.49) == []
    assert (engine.num_waiting, engine.num_running, engine.num_free_blocks) == (0, 1, 75)


def test_a_request_has_its_own_pace() -> None:
    engine = fixed(CHAIN)
    engine.add(request("a", max_tokens=2), 0.0)
    engine.add(request("b", max_tokens=3, pacing=Pacing(ttft=0.2, itl=0.1)), 0.0)
    assert play_fixed(engine) == [(0.2, "b", 1), (0.3, "b", 1), (0.4, "b", 1), (0.5, "a", 1), (0.54, "a", 1)]


def test_who_waited_for_a_seat_says_its_first_token_ttft_minus_queue_after_it_got_it() -> None:
    engine = fixed(CHAIN, max_num_seqs=1)
    a, b = request("a", max_tokens=11), request("b", max_tokens=2)
    engine.add(a, 0.0)
    engine.add(b, 0.0)
    seat = 0.5 + 10 * 0.04
    assert play_fixed(engine)[11:] == one_each("b", seat + 0.4, 0.04, 2)
    assert b.scheduled_at == pytest.approx(seat)


def test_a_driver_that_wakes_late_delays_no_later_token() -> None:
    engine = fixed(CHAIN)
    engine.add(request("a", max_tokens=6), 0.0)
    late = {0.1: 0.13, 0.5: 0.51, 0.58: 0.67}
    said = play_fixed(engine, wake=lambda when: late.get(round(when, 9), when))
    assert said == [(0.51, "a", 1), (0.54, "a", 1), (0.67, "a", 3), (0.7, "a", 1)]


def test_a_driver_later_than_the_first_token_makes_up_for_it_at_once() -> None:
    engine = fixed(Pacing(queue=0.1, ttft=0.2, itl=0.05))
    engine.add(request("a", max_tokens=10), 0.0)
    assert play_fixed(engine, until=0.5, wake=lambda when: max(when, 0.51))[0] == (0.51, "a", 7)


@pytest.mark.parametrize("most", [1, 5, 16, 40])
def test_without_itl_a_result_carries_as_many_tokens_as_it_may(most: int) -> None:
    engine = fixed(Pacing(ttft=0.1), max_tokens_per_result=most)
    engine.add(request("a", max_tokens=100), 0.0)
    said = play_fixed(engine)
    assert {time for time, _, _ in said} == {0.1}
    assert [tokens for _, _, tokens in said][:-1] == [most] * (len(said) - 1)
    assert sum(tokens for _, _, tokens in said) == 100


@pytest.mark.parametrize(("eos_at", "expected"), [(1, [1]), (9, [8, 1]), (16, [8, 8]), (70, [8] * 8 + [6])])
def test_a_burst_ends_with_the_token_that_ends_the_request(eos_at: int, expected: list[int]) -> None:
    engine = fixed(Pacing(), max_tokens_per_result=8)
    a = request("a", max_tokens=500, outputs=Words({eos_at - 1: EOS}), eos_token_id=EOS)
    engine.add(a, 0.0)
    assert [tokens for _, _, tokens in play_fixed(engine)] == expected
    assert (a.finish_reason, a.num_computed_tokens) == ("stop", 20 + eos_at - 1)


def test_further_chunks_of_a_prompt_are_due_at_once() -> None:
    engine = fixed(CHAIN, max_num_batched_tokens=300)
    engine.add(request("a", prompt=1000, max_tokens=2), 0.0)
    core, chunks = EngineCore(engine), []
    while (deadline := engine.next_deadline()) is not None and deadline < 0.5:
        batch = core.begin(deadline)
        assert batch is not None
        chunks.append((deadline, batch.num_scheduled_tokens))
        core.complete(deadline)
    assert chunks == [(0.1, [300]), (0.1, [300]), (0.1, [300]), (0.1, [100])]
    assert play_fixed(engine) == one_each("a", 0.5, 0.04, 2)


def test_prompts_beyond_the_token_budget_are_admitted_at_once_and_on_time() -> None:
    engine = fixed(CHAIN, max_num_batched_tokens=100)
    for name in "abc":
        engine.add(request(name, prompt=80, max_tokens=1), 0.0)
    assert play_fixed(engine) == [(0.5, "a", 1), (0.5, "b", 1), (0.5, "c", 1)]


def test_without_chunked_prefill_a_prompt_waits_for_the_next_step_only() -> None:
    engine = fixed(CHAIN, max_num_batched_tokens=100, enable_chunked_prefill=False)
    for name in "abc":
        engine.add(request(name, prompt=80, max_tokens=1), 0.0)
    assert play_fixed(engine) == [(0.5, "a", 1), (0.5, "b", 1), (0.5, "c", 1)]


def test_a_preempted_request_says_its_next_token_ttft_minus_queue_after_it_sits_again() -> None:
    """Two of 16 + 20 tokens in four blocks: the second leaves when the first wants its third block."""
    engine = fixed(Pacing(queue=0.0, ttft=0.5, itl=0.1), num_gpu_blocks=5, enable_prefix_caching=False)
    a, b = request("a", prompt=16, max_tokens=20), request("b", prompt=16, max_tokens=20)
    engine.add(a, 0.0)
    engine.add(b, 0.0)
    said = play_fixed(engine)
    assert [s for s in said if s[1] == "a"] == one_each("a", 0.5, 0.1, 20)
    of_b = [s for s in said if s[1] == "b"]
    before = 17
    assert of_b[:before] == one_each("b", 0.5, 0.1, before)
    seat = 0.5 + 19 * 0.1
    assert of_b[before:] == one_each("b", seat + 0.5, 0.1, 20 - before)
    assert (b.num_preemptions, b.num_output_tokens, engine.num_free_blocks) == (1, 20, 4)


@pytest.mark.parametrize("when", [0.05, 0.1, 0.3, 0.5, 0.6])
def test_an_abort_frees_at_once_and_lets_the_next_in(when: float) -> None:
    """In its queue time, with its seat, before and after its first token."""
    engine = fixed(CHAIN, max_num_seqs=1)
    a, b = request("a", max_tokens=100), request("b", max_tokens=1)
    engine.add(a, 0.0)
    engine.add(b, 0.0)
    play_fixed(engine, until=when)
    engine.abort(a, when)
    engine.abort(a, when)
    assert (a.status, a.finish_reason, a.finished_at) == (RequestStatus.FINISHED, "abort", when)
    assert play_fixed(engine) == [(round(max(0.1, when) + 0.4, 9), "b", 1)]
    assert (engine.num_running, engine.num_waiting, engine.num_free_blocks) == (0, 0, 999)


def test_pause_stops_the_pace_and_resume_goes_on_from_there() -> None:
    engine = fixed(CHAIN)
    engine.add(request("a", max_tokens=4), 0.0)
    assert play_fixed(engine, until=0.55) == [(0.5, "a", 1), (0.54, "a", 1)]
    engine.pause(PauseState.PAUSED_ALL, 0.55)
    assert engine.next_deadline() is None
    engine.resume(2.55)
    assert play_fixed(engine) == [(2.58, "a", 1), (2.62, "a", 1)]


def test_paused_for_new_requests_others_go_on() -> None:
    engine = fixed(CHAIN)
    engine.add(request("a", max_tokens=3), 0.0)
    play_fixed(engine, until=0.2)
    engine.pause(PauseState.PAUSED_NEW, 0.2)
    engine.add(request("b", max_tokens=1, at=0.2), 0.2)
    assert play_fixed(engine) == one_each("a", 0.5, 0.04, 3)
    engine.resume(5.0)
    assert play_fixed(engine) == [(5.4, "b", 1)]


def test_a_paced_engine_that_waits_for_a_deadline_has_no_batch() -> None:
    engine = fixed(CHAIN)
    core = EngineCore(engine)
    engine.add(request("a"), 0.0)
    assert core.begin(0.05) is None
    assert core.has_work
    assert core.begin(0.1) is not None


# --- properties

pacings = st.builds(
    Pacing, queue=st.sampled_from([0.0, 0.1]), ttft=st.sampled_from([0.1, 0.3]), itl=st.sampled_from([0.0, 0.04, 0.05])
)
arrivals = st.lists(
    st.tuples(st.floats(0, 2), st.integers(1, 60), st.integers(1, 40), st.none() | pacings), min_size=1, max_size=8
)


def run_all(engine: Engine, requests: list[Request], lateness: float = 0.0) -> list[Said]:
    said: list[Said] = []
    for r in sorted(requests, key=lambda r: r.arrival_time):
        said += play_fixed(engine, until=r.arrival_time, wake=lambda when: when + lateness)
        engine.add(r, r.arrival_time)
    return said + play_fixed(engine, wake=lambda when: when + lateness)


def paced_requests(plan: list[tuple[float, int, int, Pacing | None]]) -> list[Request]:
    return [
        request(f"{i}", prompt=prompt, max_tokens=tokens, at=at, pacing=pacing)
        for i, (at, prompt, tokens, pacing) in enumerate(plan)
    ]


@given(plan=arrivals, lateness=st.sampled_from([0.0, 0.001, 0.07]), blocks=st.integers(8, 200), seats=st.integers(1, 8))
def test_everybody_says_all_and_leaves_nothing(
    plan: list[tuple[float, int, int, Pacing | None]], lateness: float, blocks: int, seats: int
) -> None:
    engine = fixed(CHAIN, num_gpu_blocks=blocks, max_num_seqs=seats, max_num_batched_tokens=64)
    requests = paced_requests(plan)
    said = run_all(engine, requests, lateness)
    for r in requests:
        assert sum(tokens for _, name, tokens in said if name == r.request_id) == r.max_tokens == r.num_output_tokens
    assert (engine.num_running, engine.num_waiting, engine.num_free_blocks) == (0, 0, blocks - 1)


@given(plan=arrivals, lateness=st.sampled_from([0.0, 0.013, 0.2]))
@example(  # the last one gets its seat late, behind somebody who is due with every pass
    [(0.0, 1, 12, None), (0.75, 1, 1, None), (0.25, 1, 1, None), (0.0, 1, 17, Pacing(0.0, 0.1, 0.0)),
     (0.625, 1, 1, Pacing(0.1, 0.1, 0.0)), (0.0, 1, 1, None)],
    0.2,
)  # fmt: skip
def test_with_room_for_all_nobody_is_ever_late(
    plan: list[tuple[float, int, int, Pacing | None]], lateness: float
) -> None:
    """Token k comes at its own deadline, at most as late as the driver: lateness never adds up."""
    said = run_all(fixed(CHAIN), requests := paced_requests(plan), lateness)
    for r in requests:
        pacing = r.pacing or CHAIN
        times = [time for time, name, tokens in said if name == r.request_id for _ in range(tokens)]
        for k, time in enumerate(times):
            due = r.arrival_time + pacing.ttft + k * pacing.itl
            assert due - 1e-6 <= time <= due + 2 * lateness + 1e-6  # late for its seat, and late for the token


@given(
    prompt=st.integers(1, 60),
    tokens=st.integers(1, 90),
    pacing=pacings,
    wakes=st.lists(st.floats(0.1, 5.0), min_size=1, max_size=4).map(sorted),
    blocks=st.integers(5, 40),
    most=st.integers(2, 40),
)
def test_bursts_hold_the_same_blocks_as_single_tokens(
    prompt: int, tokens: int, pacing: Pacing, wakes: list[float], blocks: int, most: int
) -> None:
    """Whatever the size of its results, a lone request has said as much and holds as many blocks after each wake-up."""
    seen = []
    for per_result in (1, most):
        engine = fixed(pacing, num_gpu_blocks=blocks, max_tokens_per_result=per_result)
        r = request("a", prompt=prompt, max_tokens=tokens)
        engine.add(r, 0.0)
        for now in wakes:
            play_fixed(engine, until=now, wake=lambda _, now=now: now)
            seen.append((r.num_output_tokens, r.num_computed_tokens, engine.num_free_blocks, r.num_cached_blocks))
    assert seen[: len(wakes)] == seen[len(wakes) :]
