"""`mockvllm plan memory`: the lesson's figures, the same rule on other inputs, and what it refuses."""

import json
import math
from pathlib import Path

import pytest
from figures import LLAMA_70B, read, refusal, run, show
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

RECORDED = read("models.json") | read("published.json")


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(LLAMA_70B), "utf-8")
    return path


def test_the_lesson() -> None:
    plan = show("plan", "memory")
    assert plan["parameters"] == 70_553_706_496
    assert plan["weights_bytes"] == 70_600_000_000
    assert plan["kv_bytes_per_token"] == 327_680
    assert plan["kv_room_bytes"] == 68_400_000_000
    assert plan["sequence_bytes"] == 737_280_000
    assert plan["sequences"] == 92
    assert plan["num_gpu_blocks"] == 13_046
    assert plan["kv_cache_tokens"] == 208_736
    assert f"{plan['max_concurrency']:.2f}" == "25.48"
    assert plan["e2e_s"] == pytest.approx(10.46)
    assert plan["alive"] == 630
    assert f"{plan['alive_per_replica']:.1f}" == "39.4"
    assert plan["assumed"] == []


def test_the_table_says_the_same() -> None:
    done = run("plan", "memory")
    assert done.status == 0
    for figure in ("70,553,706,496", "70.600 GB", "320.0 KiB", "68.400 GB", "13,046", "0.737 GB", "92", "630", "39.4"):
        assert f" {figure} " in done.out
    assert "GPU KV cache size: 208,736 tokens, Maximum concurrency for 8,192 tokens per request: 25.48x" in done.out


@pytest.mark.parametrize(("dtype", "gigabytes"), [("bf16", 141.1), ("fp8", 70.6), ("int4", 35.3)])
def test_the_lessons_weights(config: Path, dtype: str, gigabytes: float) -> None:
    assert round(show("plan", "memory", config, "--dtype", dtype)["weights_bytes"] / 1e9, 1) == gigabytes


@pytest.mark.parametrize("name", RECORDED)
def test_every_published_config_can_be_planned(tmp_path: Path, name: str) -> None:
    path = tmp_path / f"{name}.json"
    path.write_text(json.dumps(RECORDED[name]), "utf-8")  # as an object under `config`
    plan = show("plan", "memory", path, "--gpu-bytes", "2e12")
    assert plan["parameters"] == RECORDED[name]["parameters"]
    assert plan["fits"]


@given(
    gpu=st.integers(10**10, 10**12), tp=st.sampled_from([1, 2, 4, 8]), utilization=st.sampled_from([0.5, 0.9, 0.95]),
    overhead=st.integers(0, 10**10), weights=st.integers(1, 10**11), block=st.sampled_from([16, 32]),
    kv_dtype=st.sampled_from(["auto", "fp8"]), length=st.integers(1, 10**5), tokens=st.integers(1, 10**5),
    rate=st.integers(1, 100), replicas=st.integers(1, 50),
)  # fmt: skip
@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_other_inputs_follow_the_same_rule(
    config: Path, gpu: int, tp: int, utilization: float, overhead: int, weights: int, block: int, kv_dtype: str,
    length: int, tokens: int, rate: int, replicas: int,
) -> None:  # fmt: skip
    plan = show(
        "plan", "memory", config, "--gpu-bytes", gpu, "--tensor-parallel-size", tp, "--kv-dtype", kv_dtype,
        "--gpu-memory-utilization", utilization, "--overhead-bytes", overhead, "--weights-bytes", weights,
        "--block-size", block, "--max-model-len", length, "--sequence-tokens", tokens, "--rate", rate,
        "--replicas", replicas,
    )  # fmt: skip
    token = 80 * 2 * 8 * 128 * (1 if kv_dtype == "fp8" else 2)
    room = tp * math.ceil(gpu * utilization) - weights - overhead
    blocks = max(0, room // tp // (token // tp * block))
    concurrency = blocks / math.ceil(length / block)
    assert plan["kv_bytes_per_token"] == token
    assert plan["kv_room_bytes"] == room
    assert plan["num_gpu_blocks"] == blocks
    assert plan["max_concurrency"] == concurrency
    assert plan["kv_cache_tokens"] == int(concurrency * length)
    assert plan["sequences"] == max(0, room // (token * tokens))
    assert plan["alive"] == rate * 10.5
    assert plan["alive_per_replica"] == plan["alive"] / replicas


def test_latencies_make_the_time_alive() -> None:
    plan = show(
        "plan", "memory", "--ttft-ms", 200, "--itl-ms", 20, "--output-tokens", 101, "--rate", 10, "--replicas", 4
    )
    assert plan["e2e_s"] == pytest.approx(0.2 + 100 * 0.02)
    assert (plan["alive"], plan["alive_per_replica"]) == (22, 5.5)


@pytest.mark.parametrize(
    ("gpu", "gib"),
    [
        ("H100", 79.1),
        ("h100-sxm", 79.1),
        ("H200", 139.8),
        ("A100", 79.2),
        ("B200", 178.4),
        ("L40S", 44.4),
        ("mi300x", 191.98),
    ],
)
def test_a_preset_is_what_the_device_reports(gpu: str, gib: float) -> None:
    plan = show(
        "plan", "memory", "--gpu", gpu, "--gpu-memory-utilization", 1, "--weights-bytes", 1, "--overhead-bytes", 0
    )
    assert plan["kv_room_bytes"] == 2 * int(gib * 2**30) - 1


def test_a_mix_of_formats(tmp_path: Path) -> None:
    """gpt-oss: its experts' matrices in MXFP4 (4 bits and a scale of 8 for every 32), all else in BF16."""
    path = tmp_path / "config.json"
    oss = RECORDED["gpt-oss-20b"]["config"]
    experts = 24 * 32 * 3 * 2880 * 2880
    expected = math.ceil(experts * 4.25 / 8 + (RECORDED["gpt-oss-20b"]["parameters"] - experts) * 2)
    path.write_text(json.dumps(oss), "utf-8")
    assert show("plan", "memory", path, "--dtype", "bf16,experts=mxfp4")["weights_bytes"] == expected
    path.write_text(json.dumps({**oss, "quantization_config": {"quant_method": "mxfp4"}}), "utf-8")
    plan = show("plan", "memory", path)
    assert plan["weights_bytes"] == expected
    assert plan["assumed"] == ["quantization_config: experts in mxfp4, all else in bf16"]


def grouped(weights: dict[str, object]) -> dict[str, object]:
    return {"quant_method": "compressed-tensors", "config_groups": {"group_0": {"weights": weights}}}


@pytest.mark.parametrize(
    ("section", "dtype"),
    [
        ({"quant_method": "fp8"}, "fp8"),
        ({"quant_method": "fbgemm_fp8"}, "fp8"),
        ({"quant_method": "gptq", "bits": 4}, "int4"),
        ({"quant_method": "awq", "bits": 8}, "int8"),
        ({"quant_method": "bitsandbytes", "load_in_4bit": True}, "int4"),
        ({"quant_method": "bitsandbytes", "load_in_8bit": True}, "int8"),
        ({"quant_method": "modelopt", "quant_algo": "NVFP4"}, "nvfp4"),
        ({"quant_method": "compressed-tensors", "format": "nvfp4-pack-quantized"}, "nvfp4"),
        (grouped({"num_bits": 8, "type": "float"}), "fp8"),
        (grouped({"num_bits": 8, "type": "int"}), "int8"),
        (grouped({"num_bits": 4, "type": "int"}), "int4"),
    ],
)
def test_a_quantized_checkpoint_keeps_embeddings_and_norms(
    config: Path, section: dict[str, object], dtype: str
) -> None:
    config.write_text(json.dumps({**LLAMA_70B, "quantization_config": section}), "utf-8")
    told = show("plan", "memory", config)["weights_bytes"]
    mix = ",".join(["bf16", *(f"{part}={dtype}" for part in ("attention", "mlp", "experts"))])
    assert told == show("plan", "memory", config, "--dtype", mix)["weights_bytes"]
    assert told < 0.6 * show("plan", "memory", config, "--dtype", "bf16")["weights_bytes"]


def test_a_method_it_does_not_know_is_said(config: Path) -> None:
    config.write_text(json.dumps({**LLAMA_70B, "quantization_config": {"quant_method": "magic"}}), "utf-8")
    plan = show("plan", "memory", config)
    assert plan["weights_bytes"] == 2 * 70_553_706_496
    assert plan["assumed"] == ["quantization_config: magic is not understood, weights are counted unquantized"]


def test_a_latent_cache_is_whole_on_every_gpu(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(RECORDED["deepseek-v3"]["config"]), "utf-8")
    plan = show("plan", "memory", path, "--dtype", "fp8", "--gpu", "H200", "--tensor-parallel-size", 8)
    assert plan["kv_bytes_per_token"] == 61 * 576 * 2
    assert plan["num_gpu_blocks"] == plan["kv_room_bytes"] // 8 // (61 * 576 * 2 * 16)
    assert plan["sequences"] == plan["kv_room_bytes"] // 8 // (61 * 576 * 2 * 2250)
    assert any("each KV head is kept 8 times" in text for text in plan["assumed"])


def test_heads_that_cannot_be_halved_stay_on_one_gpu(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(RECORDED["falcon-7b"]["config"]), "utf-8")  # 71 heads
    assert show("plan", "memory", path)["kv_room_bytes"] == 72_000_000_000 - 2 * 6_921_720_704 - 5_000_000_000
    assert "does not divide the 71 attention heads" in refusal("plan", "memory", path, "--tensor-parallel-size", 2)


def test_a_pipeline_is_as_full_as_its_fullest_stage(config: Path) -> None:
    plan = show("plan", "memory", config, "--dtype", "fp8", "--tensor-parallel-size", 2, "--pipeline-parallel-size", 3)
    assert plan["kv_room_bytes"] == 6 * 72_000_000_000 - 70_553_706_496 - 5_000_000_000
    assert plan["num_gpu_blocks"] == plan["kv_room_bytes"] // 6 // (27 * 2 * 4 * 128 * 2 * 16)


def test_what_does_not_fit_is_said() -> None:
    plan = show("plan", "memory", "--dtype", "bf16")
    assert (plan["fits"], plan["num_gpu_blocks"], plan["sequences"]) == (False, 0, 0)
    assert "It does not fit" in run("plan", "memory", "--dtype", "bf16").out


def test_what_is_assumed_is_said_in_the_table(config: Path) -> None:
    config.write_text(json.dumps({**LLAMA_70B, "tie_word_embeddings": None}), "utf-8")
    assert "assumed: tie_word_embeddings is not given: false" in run("plan", "memory", config).out


NUMBERS = ["--tensor-parallel-size", "--block-size", "--max-model-len", "--sequence-tokens", "--gpu-bytes", "--rate"]


@pytest.mark.parametrize("flag", [*NUMBERS, "--replicas", "--gpu-memory-utilization"])
@pytest.mark.parametrize("value", ["0", "-1", "nan", "inf", "x", "1e400"])
def test_impossible_numbers_are_refused(flag: str, value: str) -> None:
    line = refusal("plan", "memory", flag, value)
    assert flag in line
    assert value in line


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--gpu", "H1000"], "--gpu H1000: is none of H100, H200"),
        (["--gpu", "H100", "--gpu-bytes", "1"], "--gpu H100 and --gpu-bytes 1: give one of them"),
        (["--dtype", "fp3"], "--dtype fp3: is none of"),
        (["--dtype", "heads=fp8"], "--dtype heads=fp8: heads is none of embedding, attention"),
        (["--dtype", "experts=fp8"], "--dtype experts=fp8: says nothing of the other parts"),
        (["--kv-dtype", "int4"], "--kv-dtype int4: is none of"),
        (["--gpu-memory-utilization", "1.5"], "--gpu-memory-utilization 1.5: must be above 0 and at most 1"),
        (["--tensor-parallel-size", "3"], "--tensor-parallel-size 3: does not divide the 64 attention heads"),
        (["--frobnicate"], "No such option: --frobnicate"),
        (["a", "b"], "unexpected extra argument"),
    ],
)
def test_wrong_flags_are_refused(words: list[str], message: str) -> None:
    assert message in refusal("plan", "memory", *words)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "is not JSON"),
        ("[]", "must hold a JSON object, not list"),
        ("{}", "num_hidden_layers is missing"),
        ("[" * 100_000, "is not JSON"),
        ('{"model_type": "zebra"}', "unknown architecture zebra"),
        ('{"num_hidden_layers": NaN}', "num_hidden_layers must be a whole number, not nan"),
    ],
)
def test_a_file_that_is_no_config_is_refused(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "config.json"
    path.write_text(content, "utf-8")
    assert message in refusal("plan", "memory", path)


def test_a_path_that_is_no_file_is_refused(tmp_path: Path) -> None:
    assert f"{tmp_path}: is a directory, not a file" in refusal("plan", "memory", tmp_path)
    assert "nowhere.json: No such file or directory" in refusal("plan", "memory", tmp_path / "nowhere.json")
    (tmp_path / "bytes").write_bytes(b"\xff\xfe\x00")
    assert "bytes: is not JSON" in refusal("plan", "memory", tmp_path / "bytes")


def test_an_unknown_architecture_can_be_counted_as_a_known_one(config: Path) -> None:
    config.write_text(json.dumps({**LLAMA_70B, "model_type": "zebra", "architectures": ["Zebra"]}), "utf-8")
    plan = show("plan", "memory", config, "--assume-architecture", "llama")
    assert plan["parameters"] == 70_553_706_496
    assert plan["assumed"] == ["the architecture zebra, Zebra is counted as llama"]
