"""When requests want to be sent."""

import math
import random
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockvllm.simulation.arrivals import Arrivals
from mockvllm.simulation.random_dataset import RandomDataset


def arrivals(rate: float, burstiness: float, num_prompts: int, seed: int = 0) -> list[float]:
    dataset = RandomDataset(num_prompts=num_prompts, arrivals=Arrivals(rate, burstiness), seed=seed)
    return list(dataset.workload().arrivals)


@given(st.floats(0.01, 1000), st.floats(0.1, 10) | st.just(math.inf), st.integers(1, 40), st.integers(0, 9))
def test_the_last_request_is_sent_at_their_number_over_the_rate(
    rate: float, burstiness: float, num_prompts: int, seed: int
) -> None:
    times = arrivals(rate, burstiness, num_prompts, seed)
    assert times == sorted(times)
    assert times[0] >= 0
    assert times[-1] == pytest.approx(num_prompts / rate)


def test_without_a_rate_all_are_sent_at_once() -> None:
    assert arrivals(math.inf, 1.0, 5) == [0.0] * 5


def test_infinite_burstiness_is_a_constant_gap() -> None:
    assert arrivals(4.0, math.inf, 4) == pytest.approx([0.25, 0.5, 0.75, 1.0])


@pytest.mark.parametrize("burstiness", [0.25, 1.0, 4.0])
def test_gaps_vary_as_a_gamma_distribution_does(burstiness: float) -> None:
    """Its squared coefficient of variation is 1 / shape."""
    times = arrivals(2.0, burstiness, 4000)
    gaps = [after - before for before, after in pairwise([0.0, *times])]
    mean = sum(gaps) / len(gaps)
    variance = sum((gap - mean) ** 2 for gap in gaps) / len(gaps)
    assert variance / mean**2 == pytest.approx(1 / burstiness, rel=0.2)


def test_gaps_are_stretched_and_keep_their_proportions() -> None:
    process = Arrivals(10.0)
    gaps = []
    for number in range(50):
        draws = random.Random(f"7:{number}")
        [draws.random() for _ in range(3)]  # two lengths and a priority
        gaps.append(process.gap(draws))
    times = arrivals(10.0, 1.0, 50, seed=7)
    stretched = [after - before for before, after in pairwise([0.0, *times])]
    assert stretched == pytest.approx([gap * 5.0 / sum(gaps) for gap in gaps])
