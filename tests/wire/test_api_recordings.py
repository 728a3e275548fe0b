"""Every recorded exchange of /v1/responses and /v1/messages, byte for byte."""

from functools import cache
from pathlib import Path

import pytest
from server.harness import in_process
from wire_harness import MODEL, exchange, recorded_flags
from wire_recordings import Case, name, normal, recordings

from mockvllm import profiles
from mockvllm.server.messages import MessagesServing
from mockvllm.server.responses import ResponsesServing
from mockvllm.server.responses_store import ResponsesStore
from mockvllm.server.serving_config import serving_config
from mockvllm.settings import parse
from mockvllm.settings.derive import derive

PATHS = ("/v1/responses", "/v1/messages")


@cache
def api(path: str, *flags: str) -> ResponsesServing | MessagesServing:
    """The endpoint of a server with these flags."""
    settings = parse([MODEL, *flags])
    profile = profiles.load(settings.profile)
    config = serving_config(settings, derive(settings), profile)
    if path == "/v1/messages":
        return MessagesServing(config, profile.messages)
    return ResponsesServing(config, profile.responses, ResponsesStore(enabled=False))


def all_cases() -> list[Case]:
    cases = [case for version in ("0.33.0", "0.32.0", "0.30.0") for case in recordings(version)]
    return [case for case in cases if case["request"]["path"].startswith(PATHS)]


def api_cases() -> list[Case]:
    """Those that an endpoint answers by itself."""
    return [case for case in all_cases() if case["request"]["path"] in PATHS and case["response"]["status"] != 401]


def route_cases() -> list[Case]:
    """Those that need the whole application: further routes, and keys."""
    return [case for case in all_cases() if case not in api_cases()]


@pytest.mark.parametrize("case", api_cases(), ids=name)
def test_a_recorded_exchange_replays_equal(case: Case, model: Path) -> None:
    serving = api(case["request"]["path"], *recorded_flags(case, model))
    status, body = exchange(serving, case["request"])
    assert (status, normal(body)) == (case["response"]["status"], normal(case["response"]["body_text"]))


@pytest.mark.parametrize("case", route_cases(), ids=name)
async def test_a_recorded_route_replays_equal(case: Case, model: Path) -> None:
    asked, wanted = case["request"], case["response"]
    body = None if asked["body_text"] is None else asked["body_text"].encode()
    async with in_process("--model", MODEL, *recorded_flags(case, model)) as server:
        response = await server.client.request(asked["method"], asked["path"], headers=asked["headers"], content=body)
    assert (response.status_code, response.text) == (wanted["status"], wanted["body_text"])
