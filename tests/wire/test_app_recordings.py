"""Recorded exchanges with the whole application in this process: routes, layers and headers as well as bodies."""

import asyncio
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import httpx
import pytest
from wire_harness import MODEL, recorded_flags
from wire_recordings import Case, difference, name, recordings

from mockvllm.clock import ManualClock
from mockvllm.server.app import build_app
from mockvllm.server.build import build_backend
from mockvllm.settings import load
from mockvllm.testing.transport import InProcessTransport

WHOLE_GROUPS = (
    "auth",
    "completions",
    "cors",
    "health",
    "messages",
    "models",
    "pooling",
    "request_id",
    "responses",
    "root_path",
    "routing",
    "tokenize",
)
IN_PART = ("chat_extra", "context", "flags", "interval")
"""Their chat requests are replayed by test_chat_recordings.py."""
BY_HAND = ("--clock", "manual", "--ttft-ms", "20", "--itl-ms", "20", "--disable-uvicorn-access-log")


def app_cases() -> list[Case]:
    cases = [case for version in ("0.33.0", "0.32.0", "0.30.0") for case in recordings(version)]
    return [case for case in cases if is_wanted(case)]


def is_wanted(case: Case) -> bool:
    path = case["request"]["path"]
    if path.startswith("/metrics"):
        return False
    is_chat = path == "/v1/chat/completions" and case["request"]["method"] == "POST"
    return case["group"] in WHOLE_GROUPS or (case["group"] in IN_PART and not is_chat)


class Application:
    """In this process, on a clock that goes on when everybody has done what there was to do."""

    def __init__(self, flags: tuple[str, ...], environ: tuple[tuple[str, str], ...]) -> None:
        settings, environment = load([MODEL, *flags, *BY_HAND], dict(environ))
        backend = build_backend(settings, environment, asyncio.get_running_loop())
        assert isinstance(backend.clock, ManualClock)
        self._clock = backend.clock
        self._client = httpx.AsyncClient(transport=InProcessTransport(build_app(backend).asgi), base_url="http://mock")
        self._client.headers.clear()

    async def send(self, request: dict[str, Any]) -> httpx.Response:
        body = (request["body_text"] or "").encode()
        sent = self._client.request(request["method"], request["path"], headers=request["headers"], content=body)
        answer = asyncio.ensure_future(sent)
        while not answer.done():
            for _ in range(20):
                await asyncio.sleep(0)
            self._clock.advance(0.02)
        return answer.result()


class Applications:
    """One for each set of flags and variables, all on one event loop."""

    def __init__(self, runner: asyncio.Runner) -> None:
        self._runner = runner
        self._application = cache(Application)

    def exchange(self, case: Case, model: Path) -> httpx.Response:
        environ = tuple((key, value) for key, value in case["env"].items() if not key.startswith("FAKE_"))
        return self._runner.run(self._exchange(recorded_flags(case, model), environ, case["request"]))

    async def _exchange(
        self, flags: tuple[str, ...], environ: tuple[tuple[str, str], ...], request: dict[str, Any]
    ) -> httpx.Response:
        return await self._application(flags, environ).send(request)


@pytest.fixture(scope="module")
def applications() -> Iterator[Applications]:
    with asyncio.Runner() as runner:
        yield Applications(runner)


@pytest.mark.parametrize("case", app_cases(), ids=name)
def test_a_recorded_exchange_replays_equal(case: Case, model: Path, applications: Applications) -> None:
    answer = applications.exchange(case, model)
    body = "" if case["request"]["method"] == "HEAD" else answer.text  # what is no body is the transport's business
    assert difference(case, answer.status_code, answer.headers.multi_items(), body) is None
