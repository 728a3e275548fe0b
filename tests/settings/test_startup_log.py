"""The lines from start to readiness against those of the real servers, and the rules behind them on other inputs."""

import ast
import io
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from mockvllm import profiles
from mockvllm.server.log_format import LogFormat, Record
from mockvllm.server.startup_log import Startup, address, startup_records, write
from mockvllm.settings import Environment, Settings, load, parse
from mockvllm.settings.derive import derive

DATA = Path(__file__).parent.parent / "data"
WHEN = datetime(2025, 11, 29, 16, 9, 28)
ROUTE = re.compile(r"Route: (\S+), Methods: (.+)")


def recorded(name: str) -> list[str]:
    text = (DATA / "settings" / f"{name}.log").read_text("utf-8").replace("pid=N", "pid=1")
    return re.sub(r"\d\d-\d\d \d\d:\d\d:\d\d", f"{WHEN:%m-%d %H:%M:%S}", text).splitlines()


def argv_of(lines: list[str]) -> Iterator[str]:
    """The command line behind a recorded `non-default args`."""
    shown = next(line for line in lines if "non-default args" in line)
    args: dict[str, Any] = ast.literal_eval(shown.partition("args: ")[2])
    yield args.pop("model_tag")
    for name, value in args.items():
        if name == "model":
            continue
        yield f"--{name}"
        if value is not True:
            yield from map(str, value) if isinstance(value, list) else [str(value)]


def startup(argv: list[str], environ: dict[str, str], **changes: Any) -> Startup:
    settings, environment = load(argv, environ)
    start = Startup(
        settings, environment, derive(settings), profiles.load(settings.profile), 4096, address(settings, settings.port)
    )
    return replace(start, **changes)


def printed(start: Startup, log_format: LogFormat | None = None) -> list[str]:
    stream = io.StringIO()
    log_format = log_format or LogFormat.of(start.settings, start.environment)
    write(startup_records(start), replace(log_format, pid=1), stream, WHEN)
    return stream.getvalue().splitlines()


@pytest.mark.parametrize("profile", profiles.NAMES)
@pytest.mark.parametrize("kind", ["startup", "dev"])
def test_lines_equal_those_of_the_real_server(profile: str, kind: str) -> None:
    real = recorded(f"{kind}-{profile}")
    environ = {"VLLM_SERVER_DEV_MODE": "1", "VLLM_ALLOW_RUNTIME_LORA_UPDATING": "True"} if kind == "dev" else {}
    took = next(re.search(r"took ([\d.]+) s", line) for line in real if "init engine" in line)
    assert took is not None
    start = startup(
        [*argv_of(real), "--profile", profile],
        environ,
        routes=[(match[1], match[2].split(", ")) for line in real if (match := ROUTE.search(line))],
        default_sampling_params={"temperature": 0.6, "top_p": 0.9},
        seconds=float(took[1]),
    )
    ours = [line for line in printed(start) if "accepted and ignored" not in line]
    long, rest = split([line.replace(f", 'profile': '{profile}'", "") for line in ours])
    real_long, real_rest = split(real)
    assert rest == real_rest
    assert long.partition(" with config: ")[0] == real_long.partition(" with config: ")[0]
    for part in long.partition(" with config: ")[2].split(", "):
        assert f"{part}," in real_long


def split(lines: list[str]) -> tuple[str, list[str]]:
    """The line with the engine's configuration, of which a mock knows a part, and all others."""
    long = next(line for line in lines if "Initializing a V1 LLM engine" in line)
    return long, [line for line in lines if line != long]


@pytest.mark.parametrize("case", json.loads((DATA / "planning" / "kv_blocks.json").read_text()))
def test_capacity_line_is_the_one_of_the_recorded_case(case: dict[str, Any]) -> None:
    settings = Settings(max_model_len=case["max_model_len"], block_size=case["block_size"])
    blocks = case["num_gpu_blocks"]
    start = startup([], {}, settings=settings, derived=derive(settings), num_gpu_blocks=blocks)
    shown = [line.partition("] ")[2] for line in printed(start) if "Maximum concurrency" in line]
    assert shown == [line for line in case["log"] if "Maximum concurrency" in line]


def test_an_override_is_logged_with_what_it_replaces() -> None:
    start = startup(["--num-gpu-blocks-override", "900"], {}, num_gpu_blocks=900, computed_gpu_blocks=13046)
    assert "Overriding num_gpu_blocks=13046 with num_gpu_blocks_override=900" in "\n".join(printed(start))


def test_secrets_are_masked() -> None:
    start = startup(["M", "--api-key", "k1", "k2", "--hf-token", "hf_x", "--control-key", "ours"], {})
    text = "\n".join(printed(start))
    assert "'api_key': '***'" in text and "'hf_token': '***'" in text and "'control_key': '***'" in text
    assert not any(secret in text for secret in ("k1", "k2", "hf_x", "'ours'"))


def test_the_ignored_flags_are_named_in_one_warning() -> None:
    start = startup(["--load-format", "dummy", "--enable-eplb", "--download-dir=/x", "--nnodes", "2"], {})
    warnings = [line for line in printed(start) if "WARNING" in line]
    assert len(warnings) == 1
    assert warnings[0].endswith("accepted and ignored: --load-format, --enable-eplb, --download-dir, --nnodes")


def test_without_the_logo_one_line_says_version_and_model() -> None:
    lines = printed(startup(["org/m"], {"VLLM_DISABLE_LOG_LOGO": "1"}))
    assert lines[0].endswith("] vLLM server version 0.33.0, serving model org/m")
    assert not any("█" in line for line in lines)


def test_levels_prefix_and_silence() -> None:
    env = {"VLLM_LOGGING_PREFIX": "[mock] ", "VLLM_LOGGING_LEVEL": "warning", "VLLM_SERVER_DEV_MODE": "1"}
    lines = printed(startup([], env))
    assert [line.partition(" 11-29")[0] for line in lines] == ["(APIServer pid=1) [mock] WARNING"]
    assert len(printed(startup(["--log-level", "INFO"], env))) > 10
    assert printed(startup([], {"VLLM_CONFIGURE_LOGGING": "0"})) == []


def test_every_line_of_a_message_carries_the_head() -> None:
    lines = list(LogFormat(pid=7).lines(Record("EngineCore_DP1", "ERROR", "core.py:1", "a\n\nb"), WHEN))
    head = "(EngineCore_DP1 pid=7) ERROR 11-29 16:09:28 [core.py:1] "
    assert lines == [f"{head}a", head, f"{head}b"]


def test_engines_of_data_parallelism_carry_their_rank() -> None:
    lines = printed(startup(["-dp", "4", "-dpn", "2"], {}))
    assert any(line.startswith("(EngineCore_DP2 pid=1)") for line in lines)


@pytest.mark.parametrize(
    ("flags", "url"),
    [
        ([], "http://0.0.0.0:8123"),
        (["--host", "10.0.0.7"], "http://10.0.0.7:8123"),
        (["--host", "::1"], "http://[::1]:8123"),
        (["--ssl-keyfile", "k", "--ssl-certfile", "c"], "https://0.0.0.0:8123"),
        (["--uds", "/run/m.sock"], "unix:/run/m.sock"),
    ],
)
def test_address(flags: list[str], url: str) -> None:
    assert address(parse(flags), 8123) == url


def test_what_is_off_is_not_announced() -> None:
    settings = ["--generation-config", "vllm", "--enable-scale-out", "--no-enable-chunked-prefill"]
    start = startup(settings, {}, default_sampling_params={"top_p": 0.9})
    text = "\n".join(printed(start))
    assert "generation_config.json" not in text and "Scale-out" not in text and "Chunked prefill" not in text
    assert "Asynchronous scheduling is enabled." not in text
    assert "Asynchronous scheduling is enabled." in "\n".join(printed(startup(["--step-time", "linear"], {})))


@pytest.mark.parametrize(
    ("environ", "is_terminal", "color"),
    [
        ({}, True, True),
        ({}, False, False),
        ({"VLLM_LOGGING_COLOR": "1"}, False, True),
        ({"VLLM_LOGGING_COLOR": "0"}, True, False),
        ({"VLLM_LOGGING_COLOR": "1", "NO_COLOR": "1"}, True, False),
        ({"NO_COLOR": "0"}, True, True),
    ],
)
def test_when_lines_are_coloured(environ: dict[str, str], is_terminal: bool, color: bool) -> None:
    assert LogFormat.of(Settings(), Environment.read(environ), is_terminal).color is color


def test_colours_change_nothing_but_colours() -> None:
    record = Record("APIServer", "WARNING", "a.py:1", "one\ntwo")
    plain, painted = (list(LogFormat("p ", color=color, pid=1).lines(record, WHEN)) for color in (False, True))
    assert all("\033[33mWARNING\033[0m" in line for line in painted)
    assert [re.sub(r"\033\[[\d;]*m", "", line) for line in painted] == plain
