"""KV cache: block counts and capacity lines of the real vLLM, and its rule for models that mix kinds of attention."""

from typing import Any

import pytest
from figures import LLAMA_70B, read, shape
from hypothesis import given
from hypothesis import strategies as st

from mockvllm.planning.errors import InputError
from mockvllm.planning.kv_cache import KVCache, capacity, check_tensor_parallel, kv_cache, override_line

RECORDED = read("models.json") | read("published.json")
CASES = read("kv_blocks.json")


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['model']}-tp{case['tp']}-{case['max_model_len']}")
def test_blocks_and_lines_equal_the_recorded_ones(case: dict[str, Any]) -> None:
    element = {"bfloat16": 2, "fp8": 1}[case["kv_dtype"]]
    kv = KVCache(case["layers"], case["total_kv_heads"], 2 * case["head_size"] * element)
    block = kv.bytes_per_block(case["block_size"], case["tp"])
    assert block == case["bytes_per_block_per_gpu"]
    ranks = [case["available_bytes_per_gpu"]] * (case["tp"] - 1) + [case["last_rank_bytes"]]
    override = case["num_gpu_blocks_override"]
    got = capacity(override or min(ranks) // block, case["max_model_len"], case["block_size"])
    assert got.num_gpu_blocks == case["num_gpu_blocks"]
    assert got.kv_cache_tokens == case["kv_cache_size_tokens"]
    assert got.max_concurrency == case["max_concurrency"]
    overriding = [override_line(rank // block, override) for rank in ranks] if override else []
    assert [*overriding, got.log_line()] == case["log"]


def of(name: str, element_bytes: int = 2) -> KVCache:
    return kv_cache(shape(RECORDED[name]["config"]), element_bytes)


@pytest.mark.parametrize(
    ("name", "element", "per_token"),
    [
        ("llama-3.3-70b", 2, 320 * 1024),
        ("llama-3.3-70b", 1, 160 * 1024),
        ("deepseek-v3", 2, 61 * (512 + 64) * 2),  # one latent and one rotary key a layer, no values
        ("gemma-2b", 2, 18 * 2 * 256 * 2),  # a single KV head
        ("gpt2", 4, 12 * 2 * 768 * 4),
    ],
)
def test_bytes_per_token(name: str, element: int, per_token: int) -> None:
    assert of(name, element).bytes_per_token == per_token


def test_without_grouped_queries_a_token_costs_eight_times_as_much() -> None:
    config = {**LLAMA_70B, "num_key_value_heads": 64}
    assert kv_cache(shape(config), 2).bytes_per_token == 2.5 * 2**20


@pytest.mark.parametrize(
    ("name", "group", "per_request"),
    [
        ("llama-3.3-70b", 80, 512),
        ("gpt-oss-20b", 12, 512 + 513),  # 12 full and 12 sliding layers: two groups
        ("gemma-3-1b-pt", 4, 512 + 6 * (512 + 1)),  # 4 full and 22 sliding: the last sliding group is padded
        ("Mistral-7B-v0.1", 32, 512 + 1),  # all slide; 4,095 tokens and a step of 8,192 are more than the request
    ],
)
def test_groups_of_layers(name: str, group: int, per_request: int) -> None:
    kv = of(name)
    assert kv.group_layers() == group
    assert kv.blocks_per_request(8192, 16, 8192) == per_request


@given(full=st.integers(1, 60), sliding=st.integers(1, 60))
def test_the_group_is_the_rarer_kind_unless_the_other_is_little_more(full: int, sliding: int) -> None:
    small, large = sorted((full, sliding))
    expected = large if 2 * large < 3 * small else small
    assert KVCache(full + sliding, 8, 512, sliding, 128).group_layers() == expected


@given(
    window=st.integers(1, 5000),
    step=st.integers(1, 5000),
    length=st.integers(1, 40_000),
    size=st.sampled_from([16, 32]),
)
def test_a_sliding_layer_keeps_its_window_and_one_step(window: int, step: int, length: int, size: int) -> None:
    kept = min(window - 1 + step, length)
    blocks = KVCache(10, 8, 512, 10, window).blocks_per_request(length, size, step)
    assert (blocks - 2) * size < kept <= (blocks - 1) * size


@given(tokens=st.integers(1, 100_000), window=st.integers(1, 10_000), sliding=st.integers(0, 10))
def test_a_sequence_is_counted_layer_by_layer(tokens: int, window: int, sliding: int) -> None:
    kv = KVCache(10, 4, 100, sliding, window)
    layers = [min(tokens, window) if layer < sliding else tokens for layer in range(10)]
    assert kv.sequence_bytes(tokens) == sum(layers) * 400


@given(heads=st.sampled_from([1, 2, 4, 8]), tp=st.sampled_from([1, 2, 4, 8, 16]))
def test_gpus_beyond_the_heads_hold_copies(heads: int, tp: int) -> None:
    kv = KVCache(80, heads, 512)
    assert tp * kv.bytes_per_block(16, tp) == kv.copies(tp) * 16 * kv.bytes_per_token


def test_the_fullest_stage_of_a_pipeline_decides() -> None:
    assert KVCache(61, 8, 512).bytes_per_block(16, 1, 4) == 16 * 16 * 8 * 512


def test_impossible_parallelism_is_named() -> None:
    check_tensor_parallel(64, 8, 16)
    with pytest.raises(InputError, match="--tensor-parallel-size 3: does not divide the 64 attention heads"):
        check_tensor_parallel(64, 8, 3)
    with pytest.raises(InputError, match="--tensor-parallel-size 4: does not fit 10 KV heads"):
        check_tensor_parallel(40, 10, 4)
