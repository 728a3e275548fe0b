"""ORCA load reports: asked for by a header, given in one."""

import asyncio
import json
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
import support
from server.harness import CHAT, chat, in_process

from mockvllm.server.orca import load_report

ASKED, GIVEN = "endpoint-load-metrics-format", "endpoint-load-metrics"


@pytest.mark.parametrize(
    ("asked", "given"),
    [
        (b"TEXT", b"TEXT named_metrics.num_requests_waiting=3.0, named_metrics.kv_cache_usage_perc=0.25"),
        (b"json", b'JSON {"named_metrics": {"num_requests_waiting": 3.0, "kv_cache_usage_perc": 0.25}}'),
        (b"xml", None),
        (b"", None),
        (None, None),
    ],
)
def test_a_report_has_the_format_that_was_asked_for(asked: bytes | None, given: bytes | None) -> None:
    engine: Any = SimpleNamespace(num_waiting=3, kv_cache=SimpleNamespace(usage=0.25))
    assert load_report(asked, engine) == ([] if given is None else [(b"endpoint-load-metrics", given)])


@pytest.mark.parametrize("path", [CHAT, "/v1/completions", "/invocations"])
def test_whole_answers_report_and_streams_do_not(path: str) -> None:
    ask = {"prompt": "uno", "max_tokens": 2} if path == "/v1/completions" else chat(max_tokens=2)
    with support.serve("--ttft-ms", "5", "--itl-ms", "5") as server:
        answer = httpx.post(f"{server.url}{path}", json=ask, headers={ASKED: "JSON"})
        report = json.loads(answer.headers[GIVEN].removeprefix("JSON "))
        assert report == {"named_metrics": {"num_requests_waiting": 0.0, "kv_cache_usage_perc": 0.0}}
        assert GIVEN not in httpx.post(f"{server.url}{path}", json=ask).headers
        assert (
            GIVEN
            not in httpx.post(f"{server.url}{path}", json={**ask, "stream": True}, headers={ASKED: "JSON"}).headers
        )


async def test_a_report_tells_of_the_others() -> None:
    async with in_process("--max-num-seqs", "1", "--ttft-ms", "100") as server:
        running = asyncio.ensure_future(server.client.post(CHAT, json=chat("palabra " * 64, max_tokens=50)))
        waiting = asyncio.ensure_future(server.client.post(CHAT, json=chat(max_tokens=50)))
        await server.advance(0.2)
        asked = asyncio.ensure_future(server.client.post(CHAT, json=chat(max_tokens=1), headers={ASKED: "TEXT"}))
        while not asked.done():
            await server.advance(1.0)
        report = (await asked).headers[GIVEN]
        assert "num_requests_waiting=0.0" not in report
        assert float(report.rpartition("=")[2]) > 0
        await asyncio.gather(running, waiting)
