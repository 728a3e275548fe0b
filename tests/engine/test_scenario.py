"""`mockvllm simulate --scenario`: the command, its errors, and rules of the trace that no recording pins down."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
import support

from mockvllm.cli import simulate
from mockvllm.simulation.scenario import ClosedLoop, ScenarioTokens, tok

CONFIG = {"num_gpu_blocks": 9, "max_num_seqs": 4, "max_model_len": 512, "async_scheduling": False}
A = {"id": "a", "at": 0, "prompt": [[1, 20]], "max_tokens": 3}


def scenario(**parts: Any) -> dict[str, Any]:
    return {"config": CONFIG, "requests": [A]} | parts


def simulated(tmp_path: Path, content: dict[str, Any], *flags: str) -> dict[str, Any]:
    (tmp_path / "scenario.json").write_text(json.dumps(content))
    flags = ("--scenario", str(tmp_path / "scenario.json"), "--trace", str(tmp_path / "trace.json"), *flags)
    assert simulate.main(flags) == 0
    trace: dict[str, Any] = json.loads((tmp_path / "trace.json").read_text())["trace"]
    return trace


def test_a_scenario_becomes_a_trace(tmp_path: Path) -> None:
    trace = simulated(tmp_path, scenario())
    assert [line["s"] for line in trace["steps"]] == [[["a", 20, 0, "n"]], [["a", 1, 20, "c"]], [["a", 1, 21, "c"]], []]
    assert trace["requests"]["a"]["n_out"] == 3
    assert trace["summary"]["ticks"] == 4


def test_without_trace_it_goes_to_standard_output(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    (tmp_path / "scenario.json").write_text(json.dumps(scenario()))
    assert simulate.main(["--scenario", str(tmp_path / "scenario.json")]) == 0
    assert json.loads(capfdbinary.readouterr().out)["trace"]["summary"]["steps_total"] == 3


def test_an_aggregate_scenario_has_a_summary_only(tmp_path: Path) -> None:
    assert list(simulated(tmp_path, scenario(record="aggregate"))) == ["summary"]


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ({"requests": []}, "missing required field `config`"),
        (scenario(config=CONFIG | {"block_size": "16"}), "Expected `int`, got `str` - at `$.config.block_size`"),
        (scenario(config=CONFIG | {"blok_size": 16}), "`blok_size` - at `$.config`"),
        (scenario(config=CONFIG | {"max_num_seqs": 0}), "max_num_seqs must be at least 1, not 0"),
        (scenario(config=CONFIG | {"policy": "lifo"}), "Invalid enum value 'lifo' - at `$.config.policy`"),
        (scenario(requests=[A, A]), "request id 'a' is used more than once"),
        (scenario(requests=[A | {"prompt": [[1, 512]]}]), "request 'a': a prompt of 512 tokens does not go with"),
        (scenario(requests=[A | {"prompt": []}]), "request 'a': a prompt of 0 tokens does not go with"),
        (scenario(requests=[A | {"max_tokens": 0}]), "request 'a': max_tokens must be at least 1, not 0"),
        (scenario(actions=[{"at": 1, "do": "explode"}]), "Invalid enum value 'explode' - at `$.actions[0].do`"),
    ],
)
def test_what_is_no_scenario_is_named_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: dict[str, Any], complaint: str
) -> None:
    path = tmp_path / "scenario.json"
    path.write_text(json.dumps(content))
    assert simulate.main(["--scenario", str(path)]) == 2
    error = capsys.readouterr().err
    assert complaint in error
    assert str(path) in error
    assert error.count("\n") == 1


def test_a_missing_file_and_an_option_of_a_later_release_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert simulate.main(["--scenario", str(tmp_path / "none.json")]) == 2
    path = tmp_path / "scenario.json"
    path.write_text(json.dumps(scenario(config=CONFIG | {"max_num_active_seqs": 2})))
    assert simulate.main(["--profile", "0.30", "--scenario", str(path)]) == 2
    missing, option = capsys.readouterr().err.splitlines()
    assert "none.json" in missing
    assert "max_num_active_seqs" in option


@pytest.mark.parametrize("flags", [["--scenario"], ["--profile", "0.29", "--scenario", "x"], ["--nonsense"]])
def test_wrong_flags_exit_2(flags: list[str]) -> None:
    run = subprocess.run(support.mockvllm("simulate", *flags), capture_output=True, text=True, timeout=60)
    assert run.returncode == 2
    assert len(run.stderr.splitlines()) == 1


def test_what_never_fits_stalls_behind_it_all(tmp_path: Path) -> None:
    huge = {"id": "huge", "at": 2, "prompt": [[2, 200]], "max_tokens": 1}
    trace = simulated(tmp_path, scenario(requests=[A, huge, A | {"id": "b", "at": 3}]))
    summary = trace["summary"]
    assert (summary["stalled"], summary["left_waiting"], summary["left_running"]) == (True, ["huge", "b"], [])
    assert summary["ticks"] == trace["steps"][-1]["t"] == 3 + 3


def test_tokens_are_a_cycle_with_marks() -> None:
    assert tok(1, 0, 3) == [1131, 1138, 1145]
    assert tok(300, 0, 1) == [1000 + 131 * 300 % 30011]
    said = ScenarioTokens(1, eos_at=3, stop_at=2)
    assert list(said.tokens(0, 4)) == [1131, 3, 2, 1152]
    assert [said.token(i) for i in range(4)] == [1131, 3, 2, 1152]


def test_a_closed_loop_keeps_its_slots_busy(tmp_path: Path) -> None:
    loop = {"slots": [0, 10], "total": 5, "prompt": 20, "output": 4, "jitter": 1}
    trace = simulated(tmp_path, {"config": CONFIG, "closed_loop": loop})
    lengths = [4 - 1 + 37 * k % 3 for k in range(5)]
    assert [trace["requests"][str(k)]["n_out"] for k in range(5)] == lengths
    assert trace["summary"]["by_priority"]["10"]["requests"] + trace["summary"]["by_priority"]["0"]["requests"] == 5
    finished = {r: line["t"] for line in trace["steps"] for r, _ in line.get("fin", [])}
    assert [trace["requests"][str(k)]["added"] for k in (2, 3)] == sorted(finished[r] + 1 for r in "01")
    assert ClosedLoop(slots=[7], total=1, prompt=1, output=9).request(0, 0, 3).priority == 7
