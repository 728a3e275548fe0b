"""Recordings as files, one by one or in lines; which of them are asked."""

import json
import lzma
from pathlib import Path
from typing import Any

import pytest

from mockvllm.conformance.recordings import Case, common_flags, read
from mockvllm.conformance.selection import of_flags, of_names, of_version
from mockvllm.conformance.servers import CannotRunError, profile_of

COMMON = ["--served-model-name", "m"]


def exchange(group: str = "chat", case: str = "one", path: str = "/v1/models", **more: Any) -> dict[str, Any]:
    return {
        "group": group,
        "case": case,
        "vllm_version": "0.33.0",
        "server_flags": COMMON,
        "server_env": {},
        "request": {"method": "GET", "path": path, "headers": [["A", "b"]], "body_text": None},
        "response": {"status": 200, "headers": [["C", "d"]], "body_text": "{}"},
    } | more


def write(directory: Path, *exchanges: dict[str, Any]) -> Path:
    for number, data in enumerate(exchanges):
        (directory / f"{number}.json").write_text(json.dumps(data))
    return directory


def test_one_file_a_case_or_one_line_a_case_is_the_same(tmp_path: Path) -> None:
    line = exchange()
    single, lines = tmp_path / "single", tmp_path / "lines"
    single.mkdir()
    lines.mkdir()
    write(single, line)
    line["flags"], line["env"] = line.pop("server_flags"), line.pop("server_env")
    del line["vllm_version"]
    (lines / "0.33.0.jsonl.xz").write_bytes(lzma.compress(json.dumps(line).encode() + b"\n"))
    assert read(single) == read(lines)
    assert [case.request.headers for case in read(lines)] == [(("A", "b"),)]


def test_what_is_no_exchange_or_cannot_be_asked_alone_is_left_out(tmp_path: Path) -> None:
    no_answer = exchange(response={"status": None, "headers": [], "body_text": ""})
    write(tmp_path, exchange(), exchange("lora"), exchange(path="/metrics"), no_answer, {"openapi": "3.1.0"})
    assert [case.group for case in read(tmp_path)] == ["chat"]


def test_a_broken_exchange_is_named(tmp_path: Path) -> None:
    write(tmp_path, exchange(response={"status": 200}))
    with pytest.raises(ValueError, match=r"0\.json: no recorded exchange"):
        read(tmp_path)


def test_only_vllms_variables_are_given_to_a_server(tmp_path: Path) -> None:
    write(tmp_path, exchange(server_env={"FAKE_STEP_MS": "1", "VLLM_API_KEY": "k"}))
    assert read(tmp_path)[0].environ == {"VLLM_API_KEY": "k"}


@pytest.mark.parametrize(
    ("flags", "body", "expected"),
    [([], None, False), (["--stream-interval", "5"], None, True), ([], '{"stream_interval": 2}', True)],
)
def test_a_case_knows_whether_it_sets_the_interval(
    tmp_path: Path, flags: list[str], body: str | None, expected: bool
) -> None:
    request = {"method": "POST", "path": "/", "headers": [], "body_text": body}
    write(tmp_path, exchange(server_flags=COMMON + flags, request=request))
    assert read(tmp_path)[0].sets_interval is expected


def cases(tmp_path: Path) -> list[Case]:
    hermes = [*COMMON, "--tool-call-parser", "hermes"]
    return read(
        write(
            tmp_path,
            exchange(),
            exchange("tools", "call", server_flags=hermes),
            exchange(case="dev", server_env={"VLLM_SERVER_DEV_MODE": "1"}),
            exchange(case="old", vllm_version="0.30.0"),
        )
    )


def test_one_server_answers_what_was_recorded_with_its_flags(tmp_path: Path) -> None:
    found = cases(tmp_path)
    assert common_flags(found) == len(COMMON)
    assert [case.name for case in of_flags(found, [])] == ["one", "old"]
    assert [case.name for case in of_flags(found, ["--tool-call-parser", "hermes"])] == ["call"]
    assert of_flags(found, ["--tool-call-parser", "llama3_json"]) == []


def test_cases_are_chosen_by_group_name_and_version(tmp_path: Path) -> None:
    found = cases(tmp_path)
    assert [case.name for case in of_names(found, ["tools"], [])] == ["call"]
    assert [case.name for case in of_names(found, ["chat"], ["old"])] == ["old"]
    assert [case.name for case in of_version(found, "0.30")] == ["old"]
    assert [case.name for case in of_version(found, "0.33.0")] == ["one", "call", "dev"]


def test_what_is_not_recorded_is_an_error(tmp_path: Path) -> None:
    found = cases(tmp_path)
    with pytest.raises(CannotRunError, match="group chats"):
        of_names(found, ["chat", "chats"], [])
    with pytest.raises(CannotRunError, match="case two"):
        of_names(found, [], ["two"])
    with pytest.raises(CannotRunError, match=r"vLLM 0\.3: there are those of 0\.30\.0, 0\.33\.0"):
        of_version(found, "0.3")
    with pytest.raises(CannotRunError, match=r"no profile follows vLLM 0\.29\.1"):
        profile_of("0.29.1")
