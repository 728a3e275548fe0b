"""Values that no simulation can hold are refused in one line that names them."""

import json
from pathlib import Path

import pytest

from mockvllm.cli import simulate

SMALL = ["--step-time", "linear", "--num-prompts", "2", "--random-input-len", "5", "--random-output-len", "2"]
LINE = {"timestamp": 0, "input_length": 5, "output_length": 2, "hash_ids": [0]}


def refused(flags: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    try:
        status = simulate.main(flags)
    except SystemExit as exit_:
        status = int(str(exit_.code))
    assert status == 2
    (line,) = capsys.readouterr().err.strip().splitlines()
    return line


@pytest.mark.parametrize("value", ["99999999999999999999=1", "0=1e308,1=1e308", "0=inf"])
def test_priority_mixes(value: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert "--priority-mix" in refused([*SMALL, "--priority-mix", value], capsys)


@pytest.mark.parametrize(
    ("field", "value"),
    [("input_length", 10**20), ("output_length", 10**10), ("priority", 2**63), ("timestamp", -1e308)],
)
def test_lines_of_a_trace(field: str, value: float, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace = tmp_path / "trace.jsonl"
    trace.write_text(json.dumps(LINE) + "\n" + json.dumps(LINE | {field: value}) + "\n")
    line = refused(["--step-time", "linear", "--timed-trace", str(trace)], capsys)
    assert f"{trace}:2" in line
    assert field in line


def test_a_unit_of_time_is_finite(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace = tmp_path / "trace.jsonl"
    trace.write_text(json.dumps(LINE) + "\n")
    flags = ["--step-time", "linear", "--timed-trace", str(trace), "--timed-trace-sec-multiplier", "inf"]
    assert "--timed-trace-sec-multiplier" in refused(flags, capsys)
