"""The application without sockets: the ordinary FastAPI route, streamed and left midway, on a clock moved by hand."""

import asyncio

import httpx
import pytest
from server.harness import CHAT, chat, content, events, in_process, settle


async def test_a_whole_answer_comes_when_its_last_token_is_due() -> None:
    async with in_process("--ttft-ms", "300", "--itl-ms", "40") as server:
        task = asyncio.ensure_future(server.client.post(CHAT, json=chat(max_tokens=3)))
        await server.advance(0.379)
        assert not task.done()
        await server.advance(0.001)
        body = (await task).json()
        assert body["choices"][0]["message"]["content"] == "Tu pedido sale"
        assert body["usage"]["completion_tokens"] == 3


async def test_a_stream_shows_each_token_when_it_is_due_and_not_before() -> None:
    async with (
        in_process("--ttft-ms", "300", "--itl-ms", "40") as server,
        server.client.stream("POST", CHAT, json=chat(max_tokens=4, stream=True)) as response,
    ):
        assert response.headers["content-type"] == "text/event-stream; charset=utf-8"
        assert "cache-control" not in response.headers
        seen = ""
        pieces = response.aiter_text()
        for seconds, expected in [
            (0.3, "Tu"),
            (0.04, "Tu pedido"),
            (0.04, "Tu pedido sale"),
            (0.04, "Tu pedido sale mañana"),
        ]:
            await server.advance(seconds)
            seen += await anext(pieces)
            assert content(seen) == expected
        assert events(seen)[-1] == "[DONE]"


async def test_who_leaves_a_stream_is_aborted_and_frees_his_blocks() -> None:
    async with in_process("--ttft-ms", "100", "--itl-ms", "40") as server:
        free = server.backend.driver.core.engine.num_free_blocks
        async with server.client.stream(
            "POST", CHAT, json=chat("palabra " * 40, max_tokens=99, stream=True), headers={"X-Request-Id": "left"}
        ) as response:
            await server.advance(0.18)
            await anext(response.aiter_text())
            assert server.backend.driver.core.engine.num_free_blocks < free
        await settle()
        entry = await server.journal("left")
        assert entry["id"] == "chatcmpl-left"
        assert entry["state"] == "aborted_client"
        assert entry["timeline"]["client_closed"]["how"] == "fin"
        assert entry["completion_tokens"] == entry["tokens_written"] == 3
        assert entry["blocks"]["held"] == 3
        assert server.backend.driver.core.engine.num_free_blocks == free


async def test_who_leaves_the_queue_never_ran() -> None:
    async with in_process("--max-num-seqs", "1", "--ttft-ms", "100") as server:
        first = asyncio.ensure_future(server.client.post(CHAT, json=chat(max_tokens=50)))
        await server.advance(0.05)
        second = asyncio.ensure_future(server.client.post(CHAT, json=chat(), headers={"X-Request-Id": "queued"}))
        await settle()
        assert (await server.journal("queued"))["state"] == "queued"
        second.cancel()
        await settle()
        assert (await server.journal("queued"))["state"] == "aborted_queued"
        assert server.backend.driver.core.engine.num_waiting == 0
        await server.advance(5)
        assert (await first).status_code == 200


@pytest.mark.parametrize("stop", [["sale"], ["o sa"]])
async def test_a_stop_string_ends_the_request_in_the_engine_too(stop: list[str]) -> None:
    async with in_process("--ttft-ms", "0", "--itl-ms", "10", "--answer", "repeat") as server:
        task = asyncio.ensure_future(server.client.post(CHAT, json=chat(max_tokens=500, stop=stop)))
        await server.advance(0.1)
        body = (await task).json()
        assert body["choices"][0]["finish_reason"] == "stop"
        assert body["choices"][0]["stop_reason"] == stop[0]
        assert server.backend.driver.core.engine.num_running == 0
        metrics = (await server.client.get("/metrics")).text
        assert 'finished_reason="stop",model_name="chat-70b-fp8-2026-09-28"} 1.0' in metrics


async def test_the_control_api_is_for_loopback_peers_and_for_the_key() -> None:
    async with in_process("--control-key", "s3cret", client=("10.0.0.9", 1)) as server:
        refused = await server.client.get("/mock/requests")
        assert refused.status_code == 403
        assert "--control-key" in refused.json()["detail"]
        wrong = await server.client.get("/mock/requests", headers={"Authorization": "Bearer nope"})
        assert wrong.status_code == 403
        opened = await server.client.get("/mock/requests", headers={"Authorization": "Bearer s3cret"})
        assert opened.json() == {"requests": []}
    async with in_process("--no-control") as server:
        assert (await server.client.get("/mock/requests")).status_code == 404


async def test_the_clock_is_moved_over_http_and_only_when_manual() -> None:
    async with in_process() as server:
        assert (await server.client.post("/mock/clock", json={"advance_s": 1.5})).json() == {"now": 1.5}
        assert (await server.client.get("/mock/clock")).json() == {"now": 1.5}
        assert (await server.client.post("/mock/clock", json={"advance_s": -1})).status_code == 400
    async with in_process("--clock", "real") as server:
        refused = await server.client.post("/mock/clock", json={"advance_s": 1})
        assert refused.status_code == 409
        assert "--clock manual" in refused.json()["detail"]


async def test_the_journal_keeps_what_was_sent_and_hides_secrets() -> None:
    async with in_process("--journal-size", "2", "--api-key", "k1") as server:
        headers = {"Authorization": "Bearer k1", "X-Request-Id": "r", "X-Trace": "t"}
        for number in range(3):
            await server.client.post(CHAT, json=chat(model="nope", user=str(number)), headers=headers)
        listed = (await server.client.get("/mock/requests")).json()["requests"]
        assert [row["state"] for row in listed] == ["rejected", "rejected"]
        entry = await server.journal("r")
        shown = dict(entry["request"]["headers"])
        assert (shown["authorization"], shown["x-trace"]) == ("***", "t")
        assert '"user":"2"' in entry["request"]["body"]
        assert entry["status"] == 404
        assert (await server.client.post("/mock/reset")).json() == {"reset": True}
        assert (await server.client.get("/mock/requests")).json() == {"requests": []}


async def test_an_application_that_answers_nothing_is_an_error_not_a_hang() -> None:
    async def silent(scope: object, receive: object, send: object) -> None:
        return None

    from mockvllm.testing.transport import InProcessTransport

    async with httpx.AsyncClient(transport=InProcessTransport(silent), base_url="http://mock") as client:
        with pytest.raises(httpx.RemoteProtocolError, match="without a response"):
            await client.get("/")
