"""Prompts of drawn lengths: each request's draws are its own."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockvllm.simulation.arrivals import Arrivals
from mockvllm.simulation.random_dataset import RandomDataset, choose


def test_lengths_without_a_ratio_are_exact() -> None:
    load = RandomDataset(num_prompts=5, input_len=100, output_len=7, prefix_len=30).workload()
    assert list(load.prompt_lens) == [130] * 5
    assert list(load.output_lens) == [7] * 5
    assert list(load.priorities) == [0] * 5


@given(st.integers(1, 500), st.floats(0, 0.99), st.integers(0, 3))
def test_lengths_stay_within_the_ratio(length: int, ratio: float, seed: int) -> None:
    load = RandomDataset(num_prompts=30, input_len=length, output_len=length, range_ratio=ratio, seed=seed).workload()
    for value in (*load.prompt_lens, *load.output_lens):
        assert max(1, int(length * (1 - ratio))) <= value <= length * (1 + ratio) + 1


def test_all_lengths_of_the_range_are_drawn_alike() -> None:
    load = RandomDataset(num_prompts=3000, input_len=10, output_len=4, range_ratio=0.5).workload()
    assert sorted(Counter(load.prompt_lens)) == list(range(5, 16))
    assert max(Counter(load.prompt_lens).values()) < 2 * min(Counter(load.prompt_lens).values())
    assert sorted(Counter(load.output_lens)) == [2, 3, 4, 5, 6]


def test_a_request_is_the_same_however_many_follow() -> None:
    few, many = (
        RandomDataset(num_prompts=number, range_ratio=0.9, arrivals=Arrivals(3.0), priority_mix={0: 1, 5: 1}).workload()
        for number in (10, 200)
    )
    assert list(few.prompt_lens) == list(many.prompt_lens[:10])
    assert list(few.output_lens) == list(many.output_lens[:10])
    assert list(few.priorities) == list(many.priorities[:10])
    ratios = [one / other for one, other in zip(few.arrivals, many.arrivals, strict=False)]
    assert ratios == pytest.approx([ratios[0]] * 10)


def test_another_seed_draws_otherwise() -> None:
    one, other = (RandomDataset(num_prompts=50, range_ratio=0.5, seed=seed).workload() for seed in (1, 2))
    assert list(one.prompt_lens) != list(other.prompt_lens)


def test_prompts_share_their_prefix_and_nothing_else() -> None:
    load = RandomDataset(num_prompts=3, input_len=20, prefix_len=16).workload()
    first, second, third = (load.prompt(number) for number in range(3))
    assert first[:16] == second[:16] == third[:16]
    assert len({*first[16:], *second[16:], *third[16:]}) == 60
    assert [len(prompt) for prompt in (first, second, third)] == [36] * 3


def test_priorities_are_drawn_by_weight() -> None:
    load = RandomDataset(num_prompts=4000, priority_mix={0: 3, 10: 1}).workload()
    counts = Counter(load.priorities)
    assert set(counts) == {0, 10}
    assert counts[0] / 4000 == pytest.approx(0.75, abs=0.03)


@given(st.dictionaries(st.integers(-5, 5), st.floats(0.01, 9), min_size=1), st.floats(0, 1, exclude_max=True))
def test_a_choice_lies_where_its_draw_does(weights: dict[int, float], draw: float) -> None:
    chosen = choose(weights, draw)
    keys = list(weights)
    before = sum(weights[key] for key in keys[: keys.index(chosen)])
    share = draw * sum(weights.values())
    assert before - 1e-9 <= share <= before + weights[chosen] + 1e-9
