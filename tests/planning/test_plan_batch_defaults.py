"""Token budget and seats by device and use, as the real code gave them."""

from typing import Any

import pytest
from figures import read
from hypothesis import given
from hypothesis import strategies as st

from mockvllm.planning.batch_defaults import batch_defaults
from mockvllm.planning.gpus import GIB, GPUS


@pytest.mark.parametrize("case", read("batch_defaults.json"))
def test_defaults_equal_the_recorded_ones(case: dict[str, Any]) -> None:
    given_values = dict(case["given"])
    world = given_values.pop("tensor_parallel_size", 1)
    memory = int(case["device_memory_gib"] * GIB)
    got = batch_defaults(
        case["device"], memory, case["max_model_len"], usage=case["usage"], world_size=world, **given_values
    )
    assert (got.max_num_batched_tokens, got.max_num_seqs) == (case["max_num_batched_tokens"], case["max_num_seqs"])


@given(tokens=st.integers(1, 10**6), seqs=st.integers(1, 10**4), length=st.integers(1, 10**6))
def test_what_is_given_stays(tokens: int, seqs: int, length: int) -> None:
    got = batch_defaults("NVIDIA H100", 79 * GIB, length, max_num_batched_tokens=tokens, max_num_seqs=seqs)
    assert (got.max_num_batched_tokens, got.max_num_seqs) == (tokens, seqs)


@pytest.mark.parametrize(
    ("name", "tokens", "seqs"),
    [
        ("H100", 8192, 1024),
        ("H200", 8192, 1024),
        ("A100", 2048, 256),
        ("L40S", 2048, 256),
        ("B200", 16384, 1024),
        ("MI300X", 16384, 1024),
    ],
)
def test_the_presets_have_the_memory_that_decides(name: str, tokens: int, seqs: int) -> None:
    gpu = GPUS[name]
    got = batch_defaults(gpu.device, gpu.memory_bytes, 8192)
    assert (got.max_num_batched_tokens, got.max_num_seqs) == (tokens, seqs)
