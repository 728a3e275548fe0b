"""`--step-time` and `--gpu`: from flags to the engine's step time and block count."""

import json
from pathlib import Path

import pytest

from mockvllm.engine import Fixed, Linear, Pacing, SchedulerOutput
from mockvllm.engine.measured import Table, Trace
from mockvllm.engine.roofline import Roofline
from mockvllm.engine.spread import Spread, SpreadFixed, front_end_of
from mockvllm.planning.presets import presets
from mockvllm.settings import SettingsError, parse
from mockvllm.settings.derive import derive
from mockvllm.settings.engine import num_gpu_blocks
from mockvllm.settings.step_time import make_step_time


def step_time(*flags: str) -> object:
    return make_step_time(parse(flags))


def test_fixed_and_linear_take_milliseconds() -> None:
    assert step_time("--queue-ms", "100", "--ttft-ms", "500") == Fixed(Pacing(0.1, 0.5, 0.04))
    flags = ["--step-time", "linear", "--linear-base-ms", "20", "--linear-prefill-ms-per-token", "0.05"]
    assert step_time(*flags) == Linear(0.020, 0.00005)


def test_spread_is_drawn_for_each_request_from_the_seed() -> None:
    found = step_time("--step-time-spread", "0.2", "--seed", "7")
    assert isinstance(found, SpreadFixed)
    assert found.pacing_of("a") == found.pacing_of("a") != found.pacing_of("b")
    assert isinstance(step_time("--step-time", "linear", "--step-time-spread", "0.2"), Spread)


def test_roofline_is_made_from_a_preset_a_config_or_the_models_own(tmp_path: Path) -> None:
    small = step_time("--step-time", "roofline", "--step-time-model", "Llama-3.1-8B", "--gpu", "H100")
    assert isinstance(small, Roofline)
    assert (small.model.layers, small.devices.count) == (32, 1)
    (tmp_path / "config.json").write_text(json.dumps(presets()["mixtral-8x7b"].values))
    for flags in (["--hf-config-path", str(tmp_path)], [str(tmp_path)], ["--step-time-model", str(tmp_path)]):
        own = step_time("--step-time", "roofline", "--tensor-parallel-size", "2", *flags)
        assert isinstance(own, Roofline)
        assert (own.model.num_experts, own.devices.count) == (8, 2)
    reference = step_time("--step-time", "roofline", "--roofline-efficiency.step", "0.5")
    assert isinstance(reference, Roofline)
    assert (reference.model.layers, reference.efficiency.step) == (80, 0.5)


def test_the_door_is_the_rooflines_spread_or_not() -> None:
    plain = make_step_time(parse(["--step-time", "roofline"]))
    spread = make_step_time(parse(["--step-time", "roofline", "--step-time-spread", "0.1"]))
    doors = front_end_of(plain), front_end_of(spread)
    assert doors[0] is not None
    assert doors[1] is not None
    assert doors[0](10) == doors[1](10) > doors[0](0) > 0
    assert front_end_of(Linear(0.04)) is None


def test_measured_points_come_from_a_file(tmp_path: Path) -> None:
    points = tmp_path / "points.csv"
    points.write_text("decode_seqs,seconds\n1,0.010\n3,0.020\n")
    table = step_time("--step-time", "table", "--step-time-file", str(points))
    assert isinstance(table, Table)
    assert isinstance(step_time("--step-time", "trace", "--step-time-file", str(points)), Trace)
    assert table.seconds(SchedulerOutput(8)) == 0.0


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--step-time", "table"], ["--step-time table", "--step-time-file"]),
        (["--step-time", "trace", "--step-time-file", "/nowhere.csv"], ["--step-time-file /nowhere.csv"]),
        (["--step-time", "roofline", "--step-time-model", "gpt-9"], ["--step-time-model gpt-9", "llama-3.1-8b"]),
        (["--step-time", "roofline", "--gpu", "TPU"], ["--gpu TPU", "H100"]),
        (["--step-time", "roofline", "--roofline-efficiency.speed", "1"], ["speed", "front_end"]),
        (["--step-time", "roofline", "--quantization", "fp3"], ["fp3"]),
    ],
)
def test_what_cannot_be_is_named(flags: list[str], words: list[str]) -> None:
    with pytest.raises(SettingsError) as caught:
        step_time(*flags)
    for word in words:
        assert word in str(caught.value)


def test_a_gpu_holds_what_its_memory_leaves_beside_the_model() -> None:
    settings = parse(["--gpu", "H100", "--step-time-model", "llama-3.1-8b", "--gpu-memory-utilization", "0.9"])
    gib = 2**30
    weights, per_block = 8_030_261_248 * 2, 32 * 2 * 8 * 128 * 2 * 16
    room = 0.9 * 79.1 * gib - weights - 2 * gib
    assert num_gpu_blocks(settings, 16) == pytest.approx(room / per_block, rel=0.001)
    halved = parse(["--gpu", "H100", "--step-time-model", "llama-3.1-8b", "-q", "fp8", "-tp", "2"])
    assert num_gpu_blocks(halved, 16) > 2 * num_gpu_blocks(settings, 16)
    assert num_gpu_blocks(parse([]), 16) == 13_046
    assert num_gpu_blocks(parse(["--gpu", "H100", "--num-gpu-blocks-override", "77"]), 16) == 77


def test_a_gpu_decides_the_batch_defaults() -> None:
    assert derive(parse(["--gpu", "L40S"])).max_num_seqs == 256
    assert derive(parse(["--gpu", "H200"])).max_num_batched_tokens == 8192
    with pytest.raises(SettingsError, match="--gpu TPU"):
        derive(parse(["--gpu", "TPU"]))
