"""A load: who is in flight when, what of a reply counts, and why the others do not."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import httpx
import pytest
from chat_streams import DONE, chunk, role, usage
from mockvllm_client.load import NO_TOKEN, Planned, Reply, send
from mockvllm_client.stream import open_client
from patience import patient
from raw_server import Answer, Peer, RawServer, Request

URL = "http://mock/v1/completions"
Handler = Callable[[httpx.Request], Awaitable[httpx.Response]]


def planned(at: float = 0.0, number: int = 0) -> Planned:
    return Planned(at=at, prompt_tokens=7, body={"number": number}, headers={"x-request-id": f"bench-{number}"})


def event(**fields: Any) -> bytes:
    return b"data: %s\n\n" % json.dumps(fields).encode()


def said(*texts: str, tokens: int | None = None) -> bytes:
    pieces = [event(choices=[{"index": 0, "text": text, "finish_reason": None}]) for text in texts]
    counts = {"prompt_tokens": 20, "completion_tokens": tokens, "total_tokens": 0}
    return b"".join([*pieces, *([event(choices=[], usage=counts)] if tokens else []), DONE])


def streamed(body: bytes, status: int = 200, kind: str = "text/event-stream") -> httpx.Response:
    return httpx.Response(status, headers={"content-type": kind}, content=body)


async def sent(handler: Handler, load: list[Planned], **how: Any) -> tuple[list[Reply], float]:
    async with httpx.AsyncClient(transport=httpx.MockTransport(handler)) as client:
        return await send(client, URL, load, **how)


async def one(body: bytes, status: int = 200, kind: str = "text/event-stream") -> Reply:
    async def answer(request: httpx.Request) -> httpx.Response:
        return streamed(body, status, kind)

    [reply], _ = await sent(answer, [planned()])
    return reply


@pytest.mark.parametrize(("limit", "most"), [(1, 1), (3, 3), (50, 12), (None, 12)])
async def test_so_many_are_in_flight(limit: int | None, most: int) -> None:
    flying, seen, told = set[int](), [], list[int]()

    async def answer(request: httpx.Request) -> httpx.Response:
        number = json.loads(request.content)["number"]
        assert request.headers["x-request-id"] == f"bench-{number}"
        flying.add(number)
        seen.append(len(flying))
        await asyncio.sleep(0.005)
        flying.discard(number)
        return streamed(said(str(number), tokens=1))

    load = [planned(number=number) for number in range(12)]
    replies, _ = await sent(answer, load, max_concurrency=limit, told=told.append)
    assert max(seen) == most
    assert [reply.text for reply in replies] == [str(number) for number in range(12)]
    assert told == list(range(1, 13))


@patient
def test_requests_leave_at_their_times() -> None:
    async def answer(request: httpx.Request) -> httpx.Response:
        return streamed(said("a", tokens=1))

    replies, duration = asyncio.run(sent(answer, [planned(at) for at in (0.02, 0.05, 0.12)]))
    assert [reply.record.start for reply in replies] == pytest.approx([0.02, 0.05, 0.12], abs=0.015)
    assert duration == pytest.approx(0.12, abs=0.02)


async def test_waiting_for_a_seat_is_the_clients_own_time() -> None:
    async def answer(request: httpx.Request) -> httpx.Response:
        await asyncio.sleep(0.03)
        return streamed(said("a", tokens=1))

    replies, duration = await sent(answer, [planned(), planned(), planned()], max_concurrency=1)
    waited = [reply.record.queue_time for reply in replies]
    assert waited[0] < 0.03 <= waited[1] < waited[1] + 0.03 <= waited[2] + 0.001
    assert all(reply.record.latency < duration / 2 for reply in replies)


async def test_every_chunk_with_a_choice_is_an_event_and_usage_counts_the_tokens() -> None:
    reply = await one(said("Tu", "", " pedido", tokens=9))
    assert (len(reply.record.itl), reply.record.output_tokens, reply.record.prompt_tokens) == (2, 9, 20)
    assert (reply.record.success, reply.text, reply.error) == (True, "Tu pedido", "")


async def test_of_a_chat_the_role_is_no_event() -> None:
    reply = await one(role() + chunk({"content": "Tu"}) + chunk({"content": ""}, "stop") + usage(4, 2) + DONE)
    assert (len(reply.record.itl), reply.record.output_tokens, reply.record.prompt_tokens) == (1, 2, 4)


async def test_without_usage_events_are_tokens_and_the_prompt_is_as_long_as_it_was_made() -> None:
    reply = await one(said("a", "b"))
    assert (reply.record.output_tokens, reply.record.prompt_tokens) == (2, 7)


@pytest.mark.parametrize(
    ("body", "status", "error"),
    [
        (b'{"error": {"message": "The model `m` does not exist."}}', 404, "Not Found: The model `m` does not exist."),
        (b"<html>", 503, "Service Unavailable"),
        (b"", 299, "HTTP 299"),
        (DONE, 200, NO_TOKEN),
        (b'data: {"error": {"message": "EngineCore died"}}\n\n' + DONE, 200, "EngineCore died"),
        (event(choices=[], usage={"prompt_tokens": 3, "completion_tokens": 3}) + DONE, 200, NO_TOKEN),
    ],
)
async def test_what_does_not_count_says_why(body: bytes, status: int, error: str) -> None:
    reply = await one(body, status, "text/event-stream" if status == 200 else "application/json")
    assert reply.error == error
    record = reply.record
    assert (record.success, record.output_tokens, record.latency, record.prompt_tokens) == (False, 0, 0.0, 7)


def heard(answer: Answer, idle: float = 5.0) -> Reply:
    async def ask(url: str) -> Reply:
        async with open_client(url, idle=idle) as client:
            [reply], _ = await send(client, url, [planned()])
        return reply

    with RawServer(answer) as server:
        return asyncio.run(ask(server.url))


@pytest.mark.parametrize(("idle", "error"), [(5.0, "eof"), (0.1, "idle")])
def test_half_an_answer_does_not_count(idle: float, error: str) -> None:
    async def answer(request: Request, peer: Peer) -> None:
        await peer.head(b"content-type: text/event-stream", b"transfer-encoding: chunked")
        await peer.chunk(said("Tu").removesuffix(DONE))
        if error == "idle":
            await asyncio.sleep(0.5)

    reply = heard(answer, idle)
    assert (reply.record.success, reply.error) == (False, f"the answer was cut off ({error})")


def test_silence_is_no_answer() -> None:
    async def answer(request: Request, peer: Peer) -> None:
        await asyncio.sleep(0.5)

    assert heard(answer, 0.1).error == "no answer (idle)"


async def test_who_cannot_connect_fails_alone() -> None:
    async def answer(request: httpx.Request) -> httpx.Response:
        if json.loads(request.content)["number"]:
            raise httpx.ConnectError("refused")
        return streamed(said("a", tokens=1))

    replies, _ = await sent(answer, [planned(), planned(number=1)])
    assert [reply.error for reply in replies] == ["", "cannot connect: refused"]


async def test_a_load_that_is_left_leaves_its_requests() -> None:
    left = asyncio.Event()

    async def body() -> AsyncIterator[bytes]:
        try:
            yield said("a").removesuffix(DONE)
            await asyncio.sleep(60)
        finally:
            left.set()

    async def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, headers={"content-type": "text/event-stream"}, content=body())

    task = asyncio.create_task(sent(answer, [planned()]))
    await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.wait_for(left.wait(), 1)
