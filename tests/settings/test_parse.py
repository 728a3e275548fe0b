"""vLLM's rules of reading a command line."""

import subprocess
import sys
from typing import Any

import pytest

from mockvllm.settings import DEFAULT_MODEL, Settings, SettingsError, load, parse


def test_no_flag_at_all_serves_the_default_model_under_its_last_component() -> None:
    settings, _ = load([], {})
    assert settings == Settings()
    assert settings.model == DEFAULT_MODEL
    assert settings.model_names == ("chat-70b-fp8-2026-09-28",)


def test_a_model_that_is_given_is_served_as_given() -> None:
    assert parse([DEFAULT_MODEL]).model_names == (DEFAULT_MODEL,)
    assert parse(["org/m", "--served-model-name", "a", "b"]).model_names == ("a", "b")
    assert parse(["--served-model-name", "a"]).model == DEFAULT_MODEL


@pytest.mark.parametrize("argv", [["m", "--port", "81"], ["--port", "81", "m"], ["--port=81", "--", "m"]])
def test_the_model_stands_anywhere(argv: list[str]) -> None:
    settings = parse(argv)
    assert (settings.model, settings.port, settings.notes) == ("m", 81, ())


def test_the_model_flag_is_accepted_with_vllms_warning_and_yields_to_the_argument() -> None:
    settings = parse(["--model", "m"])
    assert settings.model == "m"
    assert settings.notes[0].startswith("With `vllm serve`, you should provide the model as a positional argument")
    assert parse(["p", "--model=m"]).model == "p"


@pytest.mark.parametrize(
    ("words", "name", "value"),
    [
        (["--max_model_len", "8k"], "max_model_len", 8000),
        (["--max-model-len=1K"], "max_model_len", 1024),
        (["--max-model-len", "auto"], "max_model_len", -1),
        (["--max-model-len", "-1"], "max_model_len", -1),
        (["--max-num-batched-tokens", "25.6k"], "max_num_batched_tokens", 25_600),
        (["--kv-cache-memory-bytes", "2M"], "kv_cache_memory_bytes", 2**21),
        (["-O3"], "optimization_level", "3"),
        (["-O", "1"], "optimization_level", "1"),
        (["-O=0"], "optimization_level", "0"),
        (["-tp", "4"], "tensor_parallel_size", 4),
        (["-dp=8"], "data_parallel_size", 8),
        (["-q", "fp8"], "quantization", "fp8"),
        (["-ep"], "enable_expert_parallel", True),
        (["--api-key", "a", "b"], "api_key", ("a", "b")),
        (["--api-key", "a", "--api-key", "b"], "api_key", ("b",)),
        (["--allowed-origins", '["https://a"]'], "allowed_origins", ("https://a",)),
        (["--watermark", "0.25"], "watermark", 0.25),
        (["--tool-strict-level", "None"], "tool_strict_level", None),
        (["--chat-template", ""], "chat_template", None),
        (["--max-lora-rank", "64"], "max_lora_rank", 64),
        (["--log-level", "debug"], "log_level", "DEBUG"),
        (["--default-chat-template-kwargs", '{"a": [1]}'], "default_chat_template_kwargs", {"a": [1]}),
        (["--hf-overrides", "not json"], "hf_overrides", "not json"),
        (["--kv-events-config.publisher", "zmq"], "kv_events_config", {"publisher": "zmq"}),
        (["--enable-lora"], "enable_lora", True),
        (["--enable-lora", "--no-enable-lora"], "enable_lora", False),
        (["--no-scheduler-reserve-full-isl"], "scheduler_reserve_full_isl", False),
        (["--disable-log-requests"], "enable_log_requests", False),
        (["--no-disable-fastapi-docs"], "disable_fastapi_docs", False),
        (["--no-directives"], "directives", False),
        (["--no-control"], "control", False),
        (["--profile", "vllm-0.30"], "profile", "0.30"),
        (["--profile", "v0.32.1"], "profile", "0.32"),
        (["--profile", "0.33.0"], "profile", "0.33"),
    ],
)
def test_forms_of_values(words: list[str], name: str, value: Any) -> None:
    assert getattr(parse(words), name) == value


def test_adapters_are_name_path_pairs_or_json() -> None:
    modules = parse(["--lora-modules", "a=/a", '{"name": "b", "path": "/b", "base_model_name": "m"}']).lora_modules
    assert modules is not None
    assert [(module.name, module.path, module.base_model_name) for module in modules] == [
        ("a", "/a", None),
        ("b", "/b", "m"),
    ]


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--temperatura", "1"], "unrecognized arguments: --temperatura"),
        (["--max-num-sequences", "1"], "unrecognized arguments: --max-num-sequences (did you mean --max-num-seqs?)"),
        (["--max-num-seq", "1"], "(did you mean --max-num-seqs?)"),
        (["a", "b"], "unrecognized arguments: b (MODEL is a)"),
        (["--port", "http"], "argument --port: invalid int value: 'http'"),
        (["--port"], "argument --port: expected one argument"),
        (["--answer", "shout"], "argument --answer: invalid choice: 'shout'"),
        (["--max-lora-rank", "7"], "argument --max-lora-rank: invalid choice: 7"),
        (["--max-model-len", "1.5K"], "argument --max-model-len: decimals are not allowed"),
        (["--max-model-len", "long"], "argument --max-model-len: invalid int value: 'long'"),
        (["--ttft-ms", "soon"], "argument --ttft-ms: invalid float value: 'soon'"),
        (["--kv-events-config", "zmq"], "argument --kv-events-config: invalid JSON value: 'zmq'"),
        (["--kv-events-config", "[1]"], "argument --kv-events-config: must be a JSON object, not '[1]'"),
        (["--allowed-origins", "*"], "argument --allowed-origins: invalid JSON value: '*'"),
        (["--allowed-origins", "[1]"], "argument --allowed-origins: must be a JSON list of strings, not '[1]'"),
        (["--lora-modules", "a"], "argument --lora-modules: invalid JSON value: 'a'"),
        (["--lora-modules", '{"path": "p"}'], "argument --lora-modules: needs name and path"),
        (["--kv-events-config.publisher"], "argument --kv-events-config.publisher: expected one argument"),
        (["--profile", "0.29"], "argument --profile: invalid choice: '0.29'"),
    ],
)
def test_what_cannot_be_read_is_named_in_one_line(argv: list[str], message: str) -> None:
    with pytest.raises(SettingsError) as caught:
        parse(argv)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_releases_have_their_own_defaults() -> None:
    assert [parse(["--profile", name]).allowed_origins for name in ("0.30", "0.32", "0.33")] == [("*",), (), ()]
    assert parse(["--profile", "0.32"]).tool_strict_level == "auto"
    assert parse(["--profile", "0.30", "--allowed-origins", "[]"]).allowed_origins == ()


def test_what_may_surprise_is_said_once() -> None:
    argv = ["--step-time", "linear", "--itl-ms", "3", "--port", "1", "--port=2", "--load-format", "dummy"]
    assert parse(argv).notes == (
        "Found duplicate keys --port",
        "accepted and ignored: --load-format",
        "without effect under --step-time linear: --itl-ms",
    )
    assert parse(["--async-scheduling", "--linear-base-ms", "9"]).notes == (
        "without effect under --step-time fixed: --linear-base-ms, --async-scheduling",
    )


@pytest.mark.parametrize(
    ("argv", "values"),
    [
        (["--nnodes", "2"], {"nnodes": 2}),
        (["--no-enable-eplb"], {"enable_eplb": False}),
        (["--logits-processors", "a", "b"], {"logits_processors": ["a", "b"]}),
        (["--compilation-config.mode", "3"], {"compilation_config": {"mode": 3}}),
        (["-cc", "x"], None),
    ],
)
def test_ignored_options_are_read_for_the_log(argv: list[str], values: dict[str, Any] | None) -> None:
    if values is None:
        with pytest.raises(SettingsError, match="unrecognized arguments: -cc"):
            parse(argv)
    else:
        assert parse(argv).ignored == values


def test_reading_flags_loads_nothing_slow() -> None:
    code = "import sys; from mockvllm.settings import load; load([], {}); print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    slow = {"asyncio", "difflib", "fastapi", "pathlib", "pydantic", "rich", "textwrap", "tomllib", "typer", "yaml"}
    assert not slow & set(run.stdout.split())
