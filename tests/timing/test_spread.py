"""Spread: the right mean and deviation, and the same draws whatever else happens."""

import statistics

import pytest
from batches import batch
from hypothesis import given
from hypothesis import strategies as st

from mockvllm.engine import Linear, Pacing
from mockvllm.engine.spread import Spread, factor, spread_pacing


@pytest.mark.parametrize("spread", [0.05, 0.3, 1.0])
def test_the_draws_have_mean_one_and_the_deviation_asked_for(spread: float) -> None:
    draws = [factor(spread, 1, f"request-{number}") for number in range(20_000)]
    assert statistics.mean(draws) == pytest.approx(1, rel=0.03)
    assert statistics.pstdev(draws) == pytest.approx(spread, rel=0.1)
    assert min(draws) > 0


@given(st.integers(), st.text(), st.floats(0.01, 2))
def test_a_draw_depends_on_the_seed_and_the_name_alone(seed: int, name: str, spread: float) -> None:
    assert factor(spread, seed, name) == factor(spread, seed, name) != factor(spread, seed + 1, name)
    assert factor(0.0, seed, name) == 1.0


def test_names_do_not_run_into_each_other() -> None:
    assert factor(0.5, 0, "a", "b") != factor(0.5, 0, "ab")


@given(st.lists(st.tuples(st.just(1), st.integers(1, 999)), min_size=1, max_size=9), st.floats(0.01, 1))
def test_a_step_varies_around_its_model(sequences: list[tuple[int, int]], spread: float) -> None:
    linear, output = Linear(0.02, per_decode_seq=1e-4), batch(sequences)
    expected = factor(spread, 7, "r0", sequences[0][1]) * linear.seconds(output)
    assert Spread(linear, spread, seed=7).seconds(output) == expected
    assert Spread(linear, 0.0).seconds(output) == linear.seconds(output)
    assert Spread(linear, spread).seconds(batch([])) == 0.0


def test_successive_steps_of_a_batch_differ() -> None:
    spread = Spread(Linear(0.02), 0.2)
    assert len({spread.seconds(batch([(1, context)])) for context in range(1, 50)}) == 49


@given(st.text(min_size=1), st.integers(0, 99))
def test_pacing_varies_by_request(request_id: str, seed: int) -> None:
    pacing = Pacing(queue=0.1, ttft=0.5, itl=0.04)
    own = spread_pacing(pacing, 0.2, seed, request_id)
    assert own == spread_pacing(pacing, 0.2, seed, request_id)
    assert own.queue / own.ttft == pytest.approx(0.2)
    assert own.itl / 0.04 != pytest.approx(own.ttft / 0.5)
    assert spread_pacing(pacing, 0.0, seed, request_id) == pacing
