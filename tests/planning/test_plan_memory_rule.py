"""The division of a replica's memory, and the server's default block count that follows from it."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockvllm.planning.errors import InputError
from mockvllm.planning.kv_cache import KVCache, capacity
from mockvllm.planning.memory import REFERENCE_KV, Replica, check_replica, num_gpu_blocks, reference_num_gpu_blocks
from mockvllm.planning.model import reference_model


def test_the_reference_replica_has_13_046_blocks() -> None:
    assert reference_model().kv_cache() == REFERENCE_KV
    assert Replica().kv_room_bytes == 68_400_000_000
    assert num_gpu_blocks(Replica(), REFERENCE_KV) == reference_num_gpu_blocks() == 13_046
    line = "GPU KV cache size: 208,736 tokens, Maximum concurrency for 8,192 tokens per request: 25.48x"
    assert capacity(13_046, 8192, 16).log_line() == line


@given(
    utilization=st.none() | st.sampled_from([0.5, 0.8, 0.92, 0.95, 1.0]),
    block_size=st.sampled_from([8, 16, 32, 64, 128]),
    dtype=st.sampled_from(["auto", "bfloat16", "fp8", "fp8_e4m3"]),
    tensor_parallel=st.none() | st.sampled_from([1, 2, 4, 8, 16]),
)
def test_the_servers_flags_change_it(
    utilization: float | None, block_size: int, dtype: str, tensor_parallel: int | None
) -> None:
    got = reference_num_gpu_blocks(
        utilization, block_size=block_size, kv_cache_dtype=dtype, tensor_parallel_size=tensor_parallel
    )
    gpus = tensor_parallel or 2
    room = gpus * math.ceil(80e9 * (0.9 if utilization is None else utilization)) - 70.6e9 - 5e9
    block = 80 * 2 * block_size * max(1, 8 // gpus) * 128 * (1 if "fp8" in dtype else 2)
    assert got == max(0, room // gpus // block)


def test_kv_memory_can_be_given_in_bytes() -> None:
    assert reference_num_gpu_blocks(0.5, kv_cache_memory_bytes=10 * 2_621_440 + 1) == 10


def test_an_unknown_kv_dtype_is_named() -> None:
    with pytest.raises(InputError, match="--kv-cache-dtype int3: is none of fp32, bf16, fp16, fp8"):
        reference_num_gpu_blocks(kv_cache_dtype="int3")


def test_weights_that_do_not_fit_leave_no_block() -> None:
    replica = Replica(weights_bytes=200_000_000_000)
    assert replica.kv_room_bytes < 0
    assert num_gpu_blocks(replica, REFERENCE_KV) == 0


@given(
    tp=st.sampled_from([1, 2, 4]), pp=st.integers(1, 5), layers=st.integers(1, 90), memory=st.integers(10**9, 10**12)
)
def test_blocks_fit_and_one_more_would_not(tp: int, pp: int, layers: int, memory: int) -> None:
    replica = Replica(
        gpu_memory_bytes=memory, tensor_parallel_size=tp, pipeline_parallel_size=pp, weights_bytes=0, overhead_bytes=0
    )
    kv = KVCache(layers, 4, 512)
    blocks = num_gpu_blocks(replica, kv)
    block = math.ceil(layers / pp) * 16 * (4 // tp) * 512
    assert blocks * block <= replica.kv_room_bytes / replica.gpus < (blocks + 1) * block


@pytest.mark.parametrize("utilization", [0.0, -0.1, 1.01, float("nan")])
def test_impossible_utilisation_is_named(utilization: float) -> None:
    with pytest.raises(InputError, match=f"--gpu-memory-utilization {utilization}: must be above 0 and at most 1"):
        check_replica(Replica(gpu_memory_utilization=utilization))
