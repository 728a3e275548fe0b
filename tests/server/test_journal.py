"""The journal's bounds, and what it counts."""

import asyncio
from collections.abc import Callable

import httpx
import pytest
import support
from server.harness import CHAT, chat, in_process

from mockvllm.server import journal as rooms
from mockvllm.server.journal import Entry, Journal


def entry(body: bytes) -> Entry:
    return Entry(lambda: 0.0, "POST", CHAT, [], body)


def test_bodies_are_bounded_one_by_one_and_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rooms, "BODY_LIMIT", 100)
    monkeypatch.setattr(rooms, "BODIES_LIMIT", 250)
    journal = Journal(10, block_size=16)
    for size in (40, 500, 90, 60):
        journal.add(entry(b"x" * size))
    assert [len(kept.body) for kept in journal] == [0, 100, 90, 60]
    assert [kept.num_body_bytes for kept in journal] == [40, 500, 90, 60]


def test_the_ring_forgets_the_oldest_requests() -> None:
    journal = Journal(3, block_size=16)
    for number in range(5):
        journal.add(entry(b"%d" % number))
    assert [kept.body for kept in journal] == [b"2", b"3", b"4"]
    journal.clear()
    assert list(journal) == []
    unwanted = Journal(0, block_size=16)
    unwanted.add(entry(b"x"))
    assert list(unwanted) == []


@pytest.mark.parametrize(
    ("fields", "written", "prompt"),
    [({"max_tokens": 7}, 7, 1), ({"max_tokens": 4, "n": 3, "temperature": 1}, 12, 1), ({"stop": ["mañana"]}, 4, 1)],
)
async def test_usage_tokens_written_and_metrics_agree(fields: dict[str, object], written: int, prompt: int) -> None:
    async with in_process("--ttft-ms", "10", "--itl-ms", "5") as server:
        options = {"stream": True, "stream_options": {"include_usage": True}}
        for extra in ({}, options):
            task = asyncio.ensure_future(server.client.post(CHAT, json=chat(**fields, **extra)))
            await server.advance(1)
            answer = await task
            assert f'"completion_tokens":{written}' in answer.text
        rows = (await server.client.get("/mock/requests")).json()["requests"]
        assert [(row["tokens_written"], row["completion_tokens"]) for row in rows] == [(written, written)] * 2
        assert [row["prompt_tokens"] for row in rows] == [prompt] * 2
        metrics = (await server.client.get("/metrics")).text
        assert sample(metrics, "vllm:generation_tokens_total") == 2 * written
        num_choices = int(str(fields.get("n", 1)))
        assert sample(metrics, "vllm:prompt_tokens_total") == 2 * prompt * num_choices
        assert sample(metrics, "vllm:e2e_request_latency_seconds_count") == 2 * num_choices


def sample(metrics: str, name: str) -> float:
    (line,) = [line for line in metrics.splitlines() if line.startswith(name + "{")]
    return float(line.rsplit(" ", 1)[1])


async def test_a_defect_in_preparing_is_a_500_that_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    async with in_process() as server:

        def broken(*args: object) -> None:
            raise KeyError("nobody thought of this")

        monkeypatch.setattr(server.backend.chat.config.renderer.__class__, "render", broken)
        answer = await server.client.post(CHAT, json=chat())
        assert answer.status_code == 500
        assert answer.json()["error"]["type"] == "InternalServerError"
        assert "nobody thought of this" in answer.json()["error"]["message"]
        (row,) = (await server.client.get("/mock/requests")).json()["requests"]
        assert (row["state"], row["status"]) == ("rejected", 500)


def test_open_requests_are_counted_when_asked_for(serve: Callable[..., support.Service]) -> None:
    server = serve("--enable-server-load-tracking", "--ttft-ms", "50", "--itl-ms", "20")
    with httpx.stream("POST", server.url + CHAT, json=chat(stream=True)) as response:
        assert httpx.get(server.url + "/load").json() == {"server_load": 1}
        response.read()
    assert httpx.get(server.url + "/load").json() == {"server_load": 0}
