"""What follows from unset options: every recorded case of vLLM's batch defaults, and the rules on other inputs."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockvllm.settings import Settings
from mockvllm.settings.derive import Device, derive
from mockvllm.settings.model_limit import length_of, model_limit

CASES = json.loads((Path(__file__).parent.parent / "data" / "planning" / "batch_defaults.json").read_text("utf-8"))


@pytest.mark.parametrize("case", CASES)
def test_every_recorded_case(case: dict[str, Any]) -> None:
    settings = Settings(max_model_len=case["max_model_len"], **case["given"])
    device = Device(case["device"], int(case["device_memory_gib"] * 2**30))
    derived = derive(settings, device=device, usage=case["usage"])
    assert derived.max_num_batched_tokens == case["max_num_batched_tokens"]
    assert derived.max_num_seqs == case["max_num_seqs"]


def test_nothing_given() -> None:
    derived = derive(Settings())
    assert (derived.max_model_len, derived.max_num_batched_tokens, derived.max_num_seqs) == (8192, 8192, 1024)
    assert (derived.block_size, derived.gpu_memory_utilization) == (16, 0.92)
    assert derived.enable_chunked_prefill and derived.enable_prefix_caching
    assert not derived.async_scheduling


def test_what_is_given_stays() -> None:
    settings = Settings(
        max_model_len=100,
        max_num_seqs=3,
        max_num_batched_tokens=50,
        block_size=32,
        gpu_memory_utilization=0.5,
        enable_prefix_caching=False,
        step_time="linear",
    )
    derived = derive(settings)
    assert (derived.max_model_len, derived.max_num_seqs, derived.max_num_batched_tokens) == (100, 3, 50)
    assert (derived.block_size, derived.gpu_memory_utilization, derived.enable_prefix_caching) == (32, 0.5, False)
    assert derived.async_scheduling
    assert not derive(Settings(step_time="linear", async_scheduling=False)).async_scheduling
    assert not derive(Settings(async_scheduling=True)).async_scheduling


@given(st.integers(1, 10**6), st.integers(1, 10**5), st.sampled_from([None, 4096]))
def test_a_derived_budget_is_never_below_the_seats(length: int, seqs: int, limit: int | None) -> None:
    derived = derive(Settings(max_model_len=length, max_num_seqs=min(seqs, 1024)), model_limit=limit)
    assert derived.max_num_batched_tokens == min(8192, min(seqs, 1024) * length)
    free = derive(Settings(max_model_len=length))
    assert free.max_num_seqs <= free.max_num_batched_tokens


def test_length_of_a_context() -> None:
    assert derive(Settings(), model_limit=2048).max_model_len == 2048
    assert derive(Settings(max_model_len=100), model_limit=2048).max_model_len == 100
    auto = Settings(max_model_len=-1)
    assert derive(auto).max_model_len == 131_072
    assert derive(auto, num_gpu_blocks=101).max_model_len == 1600
    assert derive(auto, num_gpu_blocks=101, model_limit=512).max_model_len == 512
    assert derive(Settings(max_model_len=-1, block_size=64), num_gpu_blocks=3).max_model_len == 128


@pytest.mark.parametrize(
    ("config", "length"),
    [
        ({"max_position_embeddings": 4096}, 4096),
        ({"max_position_embeddings": 4096, "seq_length": 2048}, 2048),
        ({"n_positions": 1024}, 1024),
        ({"text_config": {"max_position_embeddings": 512}}, 512),
        ({"max_position_embeddings": 4096, "rope_scaling": {"type": "linear", "factor": 2.0}}, 8192),
        ({"max_position_embeddings": 4096, "rope_scaling": {"rope_type": "llama3", "factor": 8.0}}, 4096),
        (
            {
                "max_position_embeddings": 999,
                "rope_parameters": {"rope_type": "yarn", "factor": 4, "original_max_position_embeddings": 100},
            },
            400,
        ),
        ({}, None),
    ],
)
def test_length_by_config(config: dict[str, Any], length: int | None) -> None:
    assert length_of(config) == length


def test_config_of_the_model_or_of_the_flag(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"max_position_embeddings": 77}')
    assert model_limit(Settings(model_tag=str(tmp_path))) == 77
    assert model_limit(Settings(model_tag="org/m", hf_config_path=str(tmp_path))) == 77
    assert model_limit(Settings(model_tag="org/m")) is None
