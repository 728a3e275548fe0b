"""Requests that would wait forever."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from simulated import reference

from mockvllm.engine import Linear
from mockvllm.simulation.random_dataset import RandomDataset
from mockvllm.simulation.run import run_workload


def run(prompt: int, output: int, **config: Any) -> None:
    load = RandomDataset(num_prompts=2, input_len=prompt, output_len=output).workload()
    run_workload(load, reference(**config), Linear(0.04))


def test_a_prompt_that_no_step_can_hold() -> None:
    config = {"enable_chunked_prefill": False, "max_num_batched_tokens": 400}
    run(400, 5, **config)
    with pytest.raises(ValueError, match="a prompt of 401 tokens can never be admitted in one step of 400 tokens"):
        run(401, 5, **config)
    with pytest.raises(ValueError, match="in one step of 300 tokens"):
        run(400, 5, **config, max_num_scheduled_tokens=300)


def test_the_last_token_needs_no_room() -> None:
    run(30, 3, num_gpu_blocks=3)
    with pytest.raises(ValueError, match=r"request 0: .* 30 and 4 output tokens can never be finished: .* 32 tokens"):
        run(30, 4, num_gpu_blocks=3)


@settings(max_examples=80, deadline=None)
@given(
    prompt=st.integers(1, 90),
    output=st.integers(1, 40),
    num_gpu_blocks=st.integers(2, 8),
    max_model_len=st.integers(2, 100),
    scheduler_reserve_full_isl=st.booleans(),
    async_scheduling=st.booleans(),
)
def test_whatever_is_not_refused_is_finished(prompt: int, output: int, **config: Any) -> None:
    try:
        run(prompt, output, **config)
    except ValueError:
        room = 16 * (config["num_gpu_blocks"] - 1)
        longest = min(prompt + output, config["max_model_len"]) - 1
        assert prompt >= config["max_model_len"] or longest > room
