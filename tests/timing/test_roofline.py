"""The roofline step time against rules of a few lines, and what must hold for any batch."""

import dataclasses
import json
from pathlib import Path
from random import Random

import pytest
from batches import batch
from hypothesis import given
from hypothesis import strategies as st

from mockvllm.engine import SchedulerOutput
from mockvllm.engine.roofline import Devices, Efficiency, Roofline
from mockvllm.hardware import model_shape, roofline
from mockvllm.planning.dtypes import bytes_by_part, parse_weights_dtype
from mockvllm.planning.gpus import GPUS, find_gpu
from mockvllm.planning.hf_config import HFConfig
from mockvllm.planning.model import Model, read_model, reference_model

CONFIGS = json.loads((Path(__file__).parent.parent / "data" / "planning" / "models.json").read_text("utf-8"))
IDEAL = Efficiency(
    weights=1, kv_cache=1, kv_heads_lost=0, compute=1, link=1, all_reduce=0, step=0, front_end=0, front_end_sequence=0
)


def model_of(name: str) -> Model:
    return read_model(HFConfig(CONFIGS[name]["config"], name))


def decode(sequences: int, context: int) -> SchedulerOutput:
    return batch([(1, context)] * sequences)


@pytest.mark.parametrize(("sequences", "context"), [(1, 2250), (40, 2250), (16, 100)])
@pytest.mark.parametrize("gpus", [1, 2, 8])
@pytest.mark.parametrize("gpu", GPUS)
def test_a_decode_step_without_losses_reads_weights_and_kv_once(
    gpu: str, gpus: int, sequences: int, context: int
) -> None:
    """Llama 3.3 70B in FP8: all weights but the embedding table; 320 KiB of KV cache a token; FLOP never the limit."""
    step = roofline(reference_model(), GPUS[gpu], gpus, dtype={"default": "fp8"}, efficiency=IDEAL)
    weights = 70_553_706_496 - 128_256 * 8192
    read = (weights + sequences * context * 327_680) / gpus / GPUS[gpu].bandwidth
    exchanged = 2 * 80 * 2 * (gpus - 1) / gpus * sequences * 8192 * 2 / (GPUS[gpu].link_bytes_per_second / 2)
    assert step.seconds(decode(sequences, context)) == pytest.approx(read + exchanged)


@pytest.mark.parametrize("prompt", [2000, 8000])
def test_a_long_prefill_without_losses_computes(prompt: int) -> None:
    """Two FLOP a parameter and token, and the attention of each token to those before it."""
    step = roofline(reference_model(), find_gpu("H100"), 1, dtype={"default": "fp8"}, efficiency=IDEAL)
    matrices = 2 * (70_553_706_496 - 128_256 * 8192) * prompt / 1979e12
    attention = 4 * 8192 * 80 * prompt * (prompt + 1) / 2 / 1979e12
    read = prompt * 327_680 / 3.35e12
    assert step.seconds(batch([(prompt, prompt)])) == pytest.approx(matrices + max(attention, read))


@pytest.mark.parametrize("name", sorted(CONFIGS))
def test_the_weights_of_a_step_are_all_but_the_embedding_table(name: str) -> None:
    model = model_of(name)
    shape = model_shape(model, model.dtype)
    table = model.shape.vocab * model.shape.hidden * {"fp32": 4}.get(model.dtype["default"], 2)
    unread = 0 if model.shape.tied else table
    read = shape.weight_bytes + shape.expert_bytes
    assert read == pytest.approx(float(sum(bytes_by_part(model.parameters, model.dtype).values())) - unread)
    flops = 2 * (model.parameters.active - (0 if model.shape.tied else model.parameters.embedding))
    assert shape.weight_flops + shape.expert_flops == flops


@pytest.mark.parametrize(("tokens", "touched"), [(1, 2.0), (2, 3.5), (4, 5.46875), (500, 8.0)])
def test_a_step_reads_the_experts_that_its_tokens_chose(tokens: int, touched: float) -> None:
    """Mixtral: 8 experts a layer, two for each token: on average 8 - 8 (3/4)^tokens of them are read."""
    model = dataclasses.replace(model_shape(model_of("mixtral-8x7b"), {"default": "bf16"}), kv_bytes=0, query_size=0)
    devices = Devices(count=1, memory_bandwidth=1.0, flops=1e30, link_bandwidth=1.0)
    expert = 3 * 4096 * 14336 * 32 * 2
    assert model.expert_bytes == 8 * expert
    read = Roofline(model, devices, IDEAL).seconds(decode(tokens, 1)) - model.weight_bytes
    assert read == pytest.approx(touched * expert, rel=1e-6)


@pytest.mark.parametrize(("gpus", "heads"), [(1, 8), (2, 4), (8, 1), (16, 1)])
def test_few_kv_heads_are_dear_and_replicas_save_nothing(gpus: int, heads: int) -> None:
    shape = model_shape(reference_model(), {"default": "fp8"})
    devices = Devices(count=gpus, memory_bandwidth=1.0, flops=1e30, link_bandwidth=1e30)
    lossy = dataclasses.replace(IDEAL, kv_heads_lost=3.0, weights=1e-30)
    free = dataclasses.replace(shape, weight_bytes=0)
    seconds = Roofline(free, devices, lossy).seconds(decode(1, 100))
    assert seconds == pytest.approx(100 * 327_680 * heads / 8 * (1 + 3 / heads))


def test_sliding_layers_read_their_window_only() -> None:
    """Gemma 2: every other layer attends to the last 4,096 tokens."""
    model = model_of("gemma-2-9b")
    shape = model_shape(model, model.dtype)
    kv = model.kv_cache()
    devices = Devices(count=1, memory_bandwidth=1.0, flops=1e30, link_bandwidth=1.0)
    for context in (100, 4096, 7000):
        read = Roofline(shape, devices, IDEAL).seconds(decode(3, context)) - shape.weight_bytes
        assert read == pytest.approx(3 * kv.sequence_bytes(context), rel=1e-6)


@pytest.mark.parametrize(("dtype", "share"), [("fp8", 0.5), ("int4", 0.25), ("bf16,mlp=fp8", None)])
def test_the_format_of_the_weights(dtype: str, share: float | None) -> None:
    model = reference_model()
    bf16 = model_shape(model, {"default": "bf16"}).weight_bytes
    own = model_shape(model, parse_weights_dtype(dtype)).weight_bytes
    expected = bf16 * share if share else bf16 - model.parameters.mlp
    assert own == pytest.approx(expected)
    halved = model_shape(model, {"default": "bf16"}, "fp8").kv_bytes
    assert halved * 2 == model_shape(model, {"default": "bf16"}, "bf16").kv_bytes


STEPS = {name: roofline(model_of(name), find_gpu("H100"), 2) for name in ("mixtral-8x7b", "llama-3.1-8b", "gemma-2-9b")}
SEQUENCE = st.integers(1, 400).flatmap(lambda n: st.tuples(st.just(n), st.integers(n, n + 3000)))
SEQUENCES = st.lists(SEQUENCE, min_size=1, max_size=20)


@given(SEQUENCES, SEQUENCE, st.sampled_from(sorted(STEPS)))
def test_more_to_do_never_takes_less_time(sequences: list[tuple[int, int]], more: tuple[int, int], name: str) -> None:
    step = STEPS[name]
    assert step.seconds(batch([*sequences, more])) >= step.seconds(batch(sequences)) > 0


@given(SEQUENCES, st.randoms(use_true_random=False))
def test_the_order_of_a_batch_plays_no_part(sequences: list[tuple[int, int]], chance: Random) -> None:
    shuffled = list(sequences)
    chance.shuffle(shuffled)
    step = STEPS["mixtral-8x7b"]
    assert step.seconds(batch(shuffled)) == pytest.approx(step.seconds(batch(sequences)))


@given(SEQUENCES)
def test_a_prefill_in_chunks_computes_the_same_attention(sequences: list[tuple[int, int]]) -> None:
    """Pairs of positions: a chunk of n tokens at the end of c attends to c - n + 1, ..., c of them."""
    figures = STEPS["llama-3.1-8b"]._figures(batch(sequences))
    assert figures.attention_pairs == sum(sum(range(c - n + 1, c + 1)) for n, c in sequences)


@given(
    st.sampled_from([field.name for field in dataclasses.fields(Efficiency)]),
    st.lists(st.tuples(st.just(1), st.integers(1, 4000)), min_size=1, max_size=20),
)
def test_every_constant_counts_in_a_decode_step(name: str, sequences: list[tuple[int, int]]) -> None:
    worse = 0.5 if name in ("weights", "kv_cache", "compute", "link") else 2.0
    base = Efficiency(compute=1e-4) if name == "compute" else Efficiency()
    lossy = dataclasses.replace(base, **{name: getattr(base, name) * worse})
    one, two = (Roofline(STEPS["mixtral-8x7b"].model, STEPS["mixtral-8x7b"].devices, e) for e in (base, lossy))
    output = batch(sequences)
    seconds = [step.seconds(output) + step.front_end_seconds(len(sequences)) for step in (one, two)]
    assert seconds[1] > seconds[0]


def test_an_empty_batch_takes_no_time() -> None:
    assert STEPS["llama-3.1-8b"].seconds(batch([])) == 0.0


def test_the_front_end_takes_longer_with_more_running() -> None:
    step, constants = STEPS["llama-3.1-8b"], Efficiency()
    for running in (0, 1, 100):
        expected = constants.front_end + running * constants.front_end_sequence
        assert step.front_end_seconds(running) == pytest.approx(expected)


def test_the_constants_are_physically_possible() -> None:
    constants = Efficiency()
    assert all(0.4 < share <= 1 for share in (constants.weights, constants.kv_cache, constants.compute, constants.link))
    assert 1e-6 < constants.all_reduce < 2e-5
    assert 5e-4 < constants.step < 5e-3
