"""What cannot be gets one line with flag and value, and exit status 2."""

import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

from mockvllm.settings import SettingsError, load
from mockvllm.settings.knob import Interval, flag_of, knob_of
from mockvllm.settings.parser import DECLARED


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ("--enable-auto-tool-choice", "--enable-auto-tool-choice requires --tool-call-parser"),
        ("--enable-log-outputs", "--enable-log-outputs requires --enable-log-requests"),
        (
            "--enable-per-request-metrics --disable-log-stats",
            "--enable-per-request-metrics cannot be used with --disable-log-stats",
        ),
        ("--reasoning-effort-map.extreme x", "--reasoning-effort-map: no such reasoning effort: extreme"),
        ("--fingerprint-mode custom", "--fingerprint-mode custom requires --fingerprint-value"),
        ("--ssl-keyfile k.pem", "--ssl-keyfile k.pem requires --ssl-certfile"),
        (
            "--max-num-batched-tokens 100 --max-model-len 200 --no-enable-chunked-prefill",
            "max_num_batched_tokens (100) is smaller than max_model_len (200). This effectively limits the maximum "
            "sequence length to max_num_batched_tokens and makes vLLM reject longer sequences. Please increase "
            "max_num_batched_tokens or decrease max_model_len.",
        ),
        (
            "--max-num-batched-tokens 100 --max-num-seqs 101",
            "max_num_batched_tokens (100) must be greater than or equal to max_num_seqs (101).",
        ),
        (
            "--max-num-seqs 9000",
            "max_num_batched_tokens (8192) must be greater than or equal to max_num_seqs (9000).",
        ),
        (
            "--max-num-active-seqs 9 --max-num-seqs 8",
            "max_num_active_seqs (9) cannot be greater than max_num_seqs (8).",
        ),
        (
            "--long-prefill-token-threshold 65 --max-model-len 64",
            "long_prefill_token_threshold (65) cannot be greater than the max_model_len (64).",
        ),
        ("--max-model-len 0", "--max-model-len: must be positive, or -1 or auto, not 0"),
        (
            "--queue-ms 400 --ttft-ms 300",
            "--queue-ms 400 is longer than --ttft-ms 300: the time to the first token includes the queue",
        ),
        ("--control-key k --no-control", "--control-key has nothing to open with --no-control"),
        ("--clock manual --time-scale 2", "--time-scale 2 has no meaning with --clock manual"),
        (
            "--num-gpu-blocks-override 40 --max-model-len 8192",
            "To serve at least one request with the model's max seq len (8192), (2.5 GiB KV cache is needed, which is "
            "larger than the available KV cache memory (0.19 GiB). Based on the available memory, the estimated "
            "maximum model length is 624. Try increasing `gpu_memory_utilization` or decreasing `max_model_len` when "
            "initializing the engine.",
        ),
        ("-dp 2 -dpn 2", "data_parallel_rank (2) must be in the range [0, 2)"),
        ("-dp 2 -dpl 3", "data_parallel_size_local (3) must be <= data_parallel_size (2)"),
    ],
)
def test_contradictions(flags: str, message: str) -> None:
    with pytest.raises(SettingsError) as caught:
        load(flags.split(), {})
    assert str(caught.value) == message


@pytest.mark.parametrize(
    "flags",
    [
        "--enable-auto-tool-choice --tool-call-parser hermes",
        "--enable-log-outputs --enable-log-requests",
        "--max-num-batched-tokens 100 --max-model-len 200",
        "--max-num-batched-tokens 64",
        "--max-num-batched-tokens 100 --max-num-seqs 100",
        "--max-num-active-seqs 8 --max-num-seqs 8",
        "--long-prefill-token-threshold 64 --max-model-len 64",
        "--reasoning-effort-map.high x",
        "--queue-ms 300 --ttft-ms 300",
        "--step-time linear --queue-ms 400 --ttft-ms 300",
        "--clock manual",
        "-dp 2 -dpn 1 -dpl 2",
        "--max-model-len auto",
        "--max-model-len auto --num-gpu-blocks-override 2",
        "--max-model-len 8192 --num-gpu-blocks-override 513",
        "--max-model-len 8193 --num-gpu-blocks-override 514",
        "--ssl-certfile c --ssl-keyfile k",
    ],
)
def test_their_neighbours_are_allowed(flags: str) -> None:
    assert load(flags.split(), {})


@pytest.mark.parametrize(("length", "blocks"), [(8192, 512), (8193, 513), (17, 2)])
def test_one_block_less_than_the_longest_request_needs(length: int, blocks: int) -> None:
    with pytest.raises(SettingsError, match="To serve at least one request"):
        load(["--max-model-len", str(length), "--num-gpu-blocks-override", str(blocks)], {})


BOUNDED = [(name, knob_of(declared).within) for name, declared in DECLARED.items()]


@pytest.mark.parametrize(("name", "within"), [(name, within) for name, within in BOUNDED if within])
def test_every_bound_is_kept(name: str, within: Interval) -> None:
    flag, low = flag_of(name), float(within.text[1:-1].split(",")[0])
    below = int(low) - 1
    with pytest.raises(SettingsError) as caught:
        load([flag, str(below)], {})
    assert str(caught.value).startswith(f"{flag}: {below}") and str(caught.value).endswith(f"is not in {within.text}")


@pytest.mark.parametrize(
    ("flag", "value"),
    [
        ("--port", "65536"),
        ("--watermark", "1"),
        ("--gpu-memory-utilization", "0"),
        ("--gpu-memory-utilization", "1.01"),
        ("--ttft-ms", "nan"),
        ("--itl-ms", "inf"),
        ("--time-scale", "0"),
        ("--num-gpu-blocks-override", "0"),
    ],
)
def test_ends_of_ranges(flag: str, value: str) -> None:
    with pytest.raises(SettingsError, match=f"{flag}: .* is not in "):
        load([flag, value], {})


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [("[0, 1)", [0, 0.5], [-0.1, 1]), ("(0, 1]", [0.1, 1], [0, 1.1]), ("[1, inf)", [1, 10**30], [0.9, float("inf")])],
)
def test_intervals(text: str, inside: list[float], outside: list[float]) -> None:
    assert all(value in Interval(text) for value in inside)
    assert not any(value in Interval(text) for value in [*outside, float("nan")])


def test_a_context_longer_than_the_models_needs_leave(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"max_position_embeddings": 4096}')
    argv = ["m", "--hf-config-path", str(tmp_path), "--max-model-len", "4097"]
    with pytest.raises(SettingsError, match=r"User-specified max_model_len \(4097\) is greater than the derived"):
        load(argv, {})
    assert load(argv, {"VLLM_ALLOW_LONG_MAX_MODEL_LEN": "1"})
    assert load([*argv[:-1], "4096"], {})
    with pytest.raises(SettingsError, match=r"no readable config\.json"):
        load(["--hf-config-path", str(tmp_path / "none")], {})


def test_the_command_exits_2_with_one_line() -> None:
    run = subprocess.run(
        [sys.executable, "-m", "mockvllm", "serve", "--itl-ms", "-1"], capture_output=True, text=True, timeout=60
    )
    assert run.returncode == 2
    assert run.stderr == "mockvllm serve: error: --itl-ms: -1.0 is not in [0, inf)   (mockvllm serve --help)\n"


def test_every_knob_says_what_it_does() -> None:
    for declared in fields(type(load([], {})[1])):
        assert knob_of(declared).help
    assert all(knob_of(declared).help for declared in DECLARED.values())
