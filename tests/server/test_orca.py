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


@pytest.mark.parametrize("num_others", [0, 1, 3])
async def test_a_report_tells_of_the_others_at_the_time_of_the_answer(num_others: int) -> None:
    async with in_process("--max-num-seqs", "2", "--ttft-ms", "100", "--itl-ms", "10") as server:
        engine = server.backend.driver.core.engine
        asked = asyncio.ensure_future(server.client.post(CHAT, json=chat(max_tokens=3), headers={ASKED: "TEXT"}))
        await server.advance(0.05)
        question = chat("palabra " * 64, max_tokens=50)
        others = [asyncio.ensure_future(server.client.post(CHAT, json=question)) for _ in range(num_others)]
        await server.advance(0.06)
        assert not asked.done()
        assert engine.num_waiting == max(0, num_others - 1)
        await server.advance(0.01)
        given = dict(item.split("=") for item in (await asked).headers[GIVEN].removeprefix("TEXT ").split(", "))
        assert float(given["named_metrics.num_requests_waiting"]) == engine.num_waiting == max(0, num_others - 2)
        assert float(given["named_metrics.kv_cache_usage_perc"]) == engine.kv_cache.usage
        assert (engine.kv_cache.usage > 0) is (num_others > 0)
        await server.advance(5)
        await asyncio.gather(*others)
