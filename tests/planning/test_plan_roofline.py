"""`mockvllm plan roofline`: the lesson's figures, the same rule on other inputs, and what it refuses."""

import json
from pathlib import Path

import pytest
from figures import read, refusal, run, show
from hypothesis import given, settings
from hypothesis import strategies as st

from mockvllm.planning.gpus import GPUS


def test_the_lesson() -> None:
    result = show("plan", "roofline")
    assert round(result["break_even"]) == 591
    assert (round(result["prefill"]["intensity"]), result["prefill"]["bound"]) == (3963, "compute")
    assert round(result["prefill"]["floor_ms"]) == 71
    decode = [
        (d["batch"], round(d["intensity"], 1), d["bound"], round(d["floor_ms"], 1), round(d["tokens_per_second"]),
         round(d["total_tokens_per_second"]))
        for d in result["decode"]
    ]  # fmt: skip
    assert decode == [
        (1, 2.0, "memory", 10.6, 94, 94),
        (40, 56.4, "memory", 14.9, 67, 2678),
        (92, 93.8, "memory", 20.7, 48, 4453),
    ]


def test_the_lessons_prefill_in_bf16() -> None:
    assert round(show("plan", "roofline", "--dtype", "bf16")["prefill"]["floor_ms"]) == 143


def test_the_table_says_the_same() -> None:
    out = run("plan", "roofline").out
    for figure in ("3,963", "71.3 ms", "10.6 ms", "14.9 ms", "20.7 ms", "2,678", "4,453", "break-even: 591 FLOP/B"):
        assert figure in out


@given(
    parameters=st.integers(10**8, 10**12), active=st.floats(0.01, 1), gpu=st.sampled_from(sorted(GPUS)),
    dtype=st.sampled_from(["fp8", "bf16"]), tp=st.integers(1, 16), prompt=st.integers(1, 10**5),
    length=st.integers(1, 10**5), batch=st.integers(1, 4096), kv=st.integers(1, 10**7),
)  # fmt: skip
@settings(max_examples=25)
def test_other_inputs_follow_the_same_rule(
    parameters: int, active: float, gpu: str, dtype: str, tp: int, prompt: int, length: int, batch: int, kv: int
) -> None:
    result = show(
        "plan", "roofline", "--parameters", parameters, "--active-parameters", parameters * active, "--gpu", gpu,
        "--dtype", dtype, "--tensor-parallel-size", tp, "--prompt", prompt, "--sequence-tokens", length,
        "--batch", batch, "--kv-bytes-per-token", kv,
    )  # fmt: skip
    flops, bandwidth = GPUS[gpu].flops.get(dtype, GPUS[gpu].flops["bf16"]), GPUS[gpu].bandwidth
    weights = parameters * {"fp8": 1, "bf16": 2}[dtype]
    for step, tokens, kv_tokens in ((result["prefill"], prompt, prompt), (result["decode"][0], batch, batch * length)):
        flop, moved = 2 * parameters * active * tokens, weights + kv_tokens * kv
        assert step["intensity"] == pytest.approx(flop / moved)
        assert step["floor_ms"] == pytest.approx(1000 * max(flop / flops, moved / bandwidth) / tp)
        assert step["bound"] == ("compute" if flop / flops > moved / bandwidth else "memory")
    decode = result["decode"][0]
    assert decode["tokens_per_second"] == pytest.approx(1000 / decode["floor_ms"])
    assert decode["total_tokens_per_second"] == pytest.approx(batch * 1000 / decode["floor_ms"])


def test_a_format_without_units_is_computed_in_bf16() -> None:
    done = run("plan", "roofline", "--gpu", "A100")
    assert "A100 has no units for fp8: it computes in bf16" in done.out
    assert show("plan", "roofline", "--gpu", "A100")["break_even"] == pytest.approx(312e12 / 2.039e12)
    assert "no units" not in run("plan", "roofline", "--gpu", "A100", "--dtype", "fp16").out


def test_a_config_says_the_sizes(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    recorded = read("models.json")["mixtral-8x7b"]
    path.write_text(json.dumps(recorded["config"]), "utf-8")
    step = show("plan", "roofline", "--config", path, "--batch", 1)["decode"][0]
    active = recorded["parameters"] - 32 * 6 * 3 * 4096 * 14336  # 2 of 8 experts
    moved = recorded["parameters"] + 2250 * 32 * 2 * 8 * 128 * 2
    assert step["intensity"] == pytest.approx(2 * active / moved)


def test_presets_name_their_sources() -> None:
    assert set(GPUS) == {"H100", "H200", "A100", "L40S", "B200", "MI300X"}
    for gpu in GPUS.values():
        assert "data sheet" in gpu.source
        assert "memory as reported" in gpu.source
        assert gpu.peak("int4") == gpu.flops["bf16"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--batch", "1,0"], "'--batch': must be a positive whole number, not 0 (in 1,0)"),
        (["--batch", ""], "'--batch'"),
        (["--batch", "1,,2"], "'--batch'"),
        (["--parameters", "nan"], "'--parameters': must be a number, not nan"),
        (["--parameters", "-1"], "'--parameters': must be a number above 0, not -1"),
        (["--active-parameters", "80e9"], "--active-parameters 8e+10: are more than the 7.06e+10"),
        (["--prompt", "0"], "'--prompt': must be a positive whole number, not 0"),
        (["--gpu", "TPU"], "--gpu TPU: is none of H100"),
        (["--dtype", "fp2"], "--dtype fp2: is none of"),
        (["--config", "/"], "/: is a directory, not a file"),
    ],
)
def test_wrong_flags_are_refused(words: list[str], message: str) -> None:
    assert message in refusal("plan", "roofline", *words)
