"""The command: whom it asks, what it reports, how it ends."""

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
import support

from mockvllm.cli.main import main
from mockvllm.conformance.recordings import Case

WANTED = ("chat_basic/empty_answer", "chat_body/wrong_model", "health/version", "tools_hermes/truncated_stream")


def write(directory: Path, case: Case, **changes: Any) -> None:
    """One recording, its answer changed."""
    data = {
        "case": case.name,
        "group": case.group,
        "vllm_version": case.version,
        "server_flags": case.flags,
        "server_env": dict(case.env),
        "request": asdict(case.request),
        "response": asdict(case.answer) | changes,
    }
    (directory / f"{case.version}-{case.group}-{case.name}.json").write_text(json.dumps(data))


@pytest.fixture
def cases(recorded: list[Case]) -> list[Case]:
    """A few recordings of 0.33."""
    return [case for case in recorded if case.version == "0.33.0" and f"{case.group}/{case.name}" in WANTED]


@pytest.fixture
def recordings(tmp_path: Path, cases: list[Case]) -> Path:
    directory = tmp_path / "recordings"
    directory.mkdir()
    for case in cases:
        write(directory, case)
    return directory


def conform(*argv: object) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["conform", *(str(arg) for arg in argv)])
    return int(ended.value.code or 0)


def test_servers_are_started_for_each_set_of_flags(
    recordings: Path, model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert conform("--recordings", recordings, "--model", model, "--group", "health", "--group", "tools_hermes") == 0
    printed = capsys.readouterr().out
    assert [line.split() for line in printed.splitlines() if line.startswith(" 0.33.0")] == [
        ["0.33.0", "health", "1", "1", "0"],
        ["0.33.0", "tools_hermes", "1", "1", "0"],
    ]
    assert printed.splitlines()[-1] == "2 of 2 cases equal"


def test_a_server_that_is_there_is_asked_for_what_its_flags_allow(
    recordings: Path, cases: list[Case], serve: Callable[..., support.Service], capsys: pytest.CaptureFixture[str]
) -> None:
    [health] = [case for case in cases if case.group == "health"]
    server = serve(*health.flags)
    assert conform("--recordings", recordings, "--url", server.url, "--json", "--case", "version") == 0
    assert json.loads(capsys.readouterr().out)["cases"] == 1
    assert conform("--recordings", recordings, "--url", server.url, "--case", "truncated_stream") == 2
    assert "no recordings of case truncated_stream" in capsys.readouterr().err


def test_a_difference_is_reported_everywhere_and_ends_with_1(
    recordings: Path,
    cases: list[Case],
    serve: Callable[..., support.Service],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    [wrong] = [case for case in cases if case.name == "wrong_model"]
    write(recordings, wrong, status=400)
    junit = tmp_path / "report.xml"
    url = serve(*wrong.flags).url
    asked = ("--recordings", recordings, "--url", url, "--group", "chat_body", "--group", "health")
    assert conform(*asked, "--json", "--junit", junit) == 1
    reported = json.loads(capsys.readouterr().out)
    assert (reported["cases"], reported["equal"]) == (2, 1)
    [difference] = reported["differences"]
    assert (difference["group"], difference["case"], difference["differs"]) == ("chat_body", "wrong_model", "status")
    assert (difference["expected"][:4], difference["got"][:4]) == ("400 ", "404 ")
    suites = {suite.get("name"): suite.get("failures") for suite in ET.parse(junit).getroot()}
    assert suites == {"0.33.0/chat_body": "1", "0.33.0/health": "0"}
    assert conform(*asked) == 1
    assert "0.33.0 chat_body/wrong_model: status\n  expected '400 " in capsys.readouterr().out


def test_by_shape_another_text_is_no_difference(
    recordings: Path, cases: list[Case], serve: Callable[..., support.Service], model: Path
) -> None:
    """The server has another tokenizer and answer than the recorded one."""
    [chat] = [case for case in cases if case.name == "empty_answer"]
    server = serve(*chat.flags)
    asked = ("--recordings", recordings, "--url", server.url, "--group", "chat_basic")
    assert conform(*asked) == 1
    assert conform(*asked, "--shapes") == 0


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (("--recordings", "{empty}"), "--recordings {empty}: no recorded exchanges there"),
        (("--recordings", "{empty}/none"), "--recordings {empty}/none: no recorded exchanges there"),
        (("--recordings", "{full}", "--version", "0.29"), "no recordings of vLLM 0.29: there are those of 0.33.0"),
        (("--recordings", "{full}"), "--model {root}/model: no config.json of the recorded model there"),
        (("--recordings", "{full}", "--model", "{empty}"), "--model {empty}: no config.json"),
        (("--recordings", "{full}", "--url", "localhost:1"), "a server's URL begins with http:// or https://"),
        (("--recordings", "{full}", "--live", "http://127.0.0.1:{closed}"), "does not say which vLLM it is"),
        (("--recordings", "{full}", "--url", "http://127.0.0.1:{closed}", "--version", "0.33", "--flags", "--none"),
         "--flags '--none': no recordings of a server with these"),
        (("--recordings", "{full}", "--flags", "--none", "--live", "http://127.0.0.1:x"), "http://127.0.0.1:x"),
        ((), "Missing option '--recordings'"),
    ],
)  # fmt: skip
def test_what_cannot_run_is_one_line_and_2(
    argv: tuple[str, ...], message: str, recordings: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    known = {"empty": empty, "full": recordings, "root": tmp_path, "closed": support.free_port()}
    assert conform(*(arg.format(**known) for arg in argv)) == 2
    error = capsys.readouterr().err
    assert error.startswith("mockvllm conform: error: ")
    assert error.count("\n") == 1
    assert message.format(**known) in error


def test_a_server_that_does_not_come_up_is_said(
    recordings: Path, cases: list[Case], model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = next(case for case in cases if case.group == "health")
    directory = recordings / "broken"
    directory.mkdir()
    for source in recordings.glob("*.json"):
        source.unlink()
    write(directory, broken)
    file = next(directory.iterdir())
    data = json.loads(file.read_text()) | {"server_flags": ["--max-model-len", "nothing"]}
    file.write_text(json.dumps(data))
    assert conform("--recordings", recordings, "--model", model) == 2
    assert "no server with --max-model-len nothing" in capsys.readouterr().err
