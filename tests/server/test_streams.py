"""Streams on real sockets: slow readers, many of them, and the lesson read with curl."""

import asyncio
import json
import socket
import statistics
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
import support
from server.harness import CHAT, chat, content, events

SENTENCE = "Tu pedido sale mañana y llega en dos o tres días hábiles ."


@pytest.fixture(scope="module")
def flat_out() -> Iterator[support.Service]:
    """Answers of thousands of tokens at once: more than any socket buffer holds."""
    flags = ["--answer", "repeat", "--ttft-ms", "0", "--itl-ms", "0", "--max-model-len", "64k"]
    with support.serve(*flags) as running:
        yield running


def request(body: dict[str, object]) -> bytes:
    data = json.dumps(body).encode()
    head = f"POST {CHAT} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nConnection: close\r\n"
    return f"{head}Content-Length: {len(data)}\r\n\r\n".encode() + data


def dechunk(raw: bytes) -> str:
    body, out = raw.partition(b"\r\n\r\n")[2], []
    while body:
        size, _, rest = body.partition(b"\r\n")
        length = int(size, 16)
        out.append(rest[:length])
        body = rest[length + 2 :]
    return b"".join(out).decode()


def seconds_of_others(server: support.Service, seconds: float) -> list[float]:
    """How long small requests take, one after the other for so many seconds."""
    took = []
    with httpx.Client(base_url=server.url) as client:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            began = time.monotonic()
            assert client.post(CHAT, json=chat(max_tokens=5)).status_code == 200
            took.append(time.monotonic() - began)
            time.sleep(0.02)
    return took


@pytest.mark.slow
def test_a_reader_that_stalls_for_five_seconds_loses_nothing_and_slows_nobody(flat_out: support.Service) -> None:
    num_tokens = 40_000
    options = {"include_usage": True}
    body = chat(stream=True, max_tokens=num_tokens, stream_options=options, return_token_ids=True)
    before = seconds_of_others(flat_out, 1)
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect(("127.0.0.1", flat_out.port))
        connection.sendall(request(body))
        others = seconds_of_others(flat_out, 5)
        connection.settimeout(20)
        raw = b"".join(iter(lambda: connection.recv(1 << 20), b""))
    assert statistics.median(others) < 2 * statistics.median(before) + 0.02
    text = dechunk(raw)
    chunks = events(text)
    assert chunks[-1] == "[DONE]"
    assert chunks[-2]["usage"]["completion_tokens"] == num_tokens
    said = content(text).split()
    assert said == (SENTENCE.split() * (num_tokens // 13 + 1))[:num_tokens]
    choices = [choice for chunk in chunks[:-2] for choice in chunk["choices"]]
    sizes = [len(choice.get("token_ids") or []) for choice in choices]
    assert sum(sizes) == num_tokens
    assert max(sizes) > 100  # what piled up came merged, as vLLM's output collector merges it


def test_several_tokens_that_are_due_together_stay_one_event_each(flat_out: support.Service) -> None:
    text = httpx.post(flat_out.url + CHAT, json=chat(stream=True, max_tokens=40)).text
    pieces = [event["choices"][0]["delta"]["content"] for event in events(text)[1:-1]]
    assert pieces == [word if i == 0 else f" {word}" for i, word in enumerate((SENTENCE.split() * 4)[:40])]


@pytest.mark.slow
async def test_two_thousand_streams_at_25_tokens_a_second_run_without_an_error() -> None:
    flags = ["--max-num-seqs", "4096", "--answer", "repeat", "--ttft-ms", "200", "--itl-ms", "40"]
    with support.serve(*flags) as server:
        raw = await asyncio.wait_for(
            asyncio.gather(*[one_stream(server.port, delay=i / 2000) for i in range(2000)]), timeout=90
        )
        async with httpx.AsyncClient(timeout=30) as client:
            listed = (await client.get(server.url + "/mock/requests?limit=2000")).json()["requests"]
    assert {content(dechunk(answer)).count(" ") for answer in raw} == {24}
    assert [row["state"] for row in listed] == ["finished"] * 2000
    assert {row["tokens_written"] for row in listed} == {25}


async def one_stream(port: int, delay: float) -> bytes:
    await asyncio.sleep(delay)
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request(chat(stream=True, max_tokens=25)))
    answer = await reader.read()
    writer.close()
    return answer


# --- L7: the mock server, read with curl


@pytest.fixture(scope="module")
def lesson() -> Iterator[support.Service]:
    with support.serve() as running:
        yield running


def median_seconds(server: support.Service, body: dict[str, Any]) -> tuple[float, Any]:
    """How long the whole answer takes, of five requests on one connection, and the answer."""
    took = []
    with httpx.Client(base_url=server.url) as client:
        client.get("/health")
        for _ in range(5):
            began = time.monotonic()
            answer = client.post(CHAT, json=body).json()
            took.append(time.monotonic() - began)
    return statistics.median(took), answer


QUESTION = "¿Cuándo llega mi pedido?"


def test_l7_health_and_models(lesson: support.Service) -> None:
    health = httpx.get(lesson.url + "/health")
    assert (health.status_code, health.content) == (200, b"")
    (card,) = httpx.get(lesson.url + "/v1/models").json()["data"]
    assert card["id"] == "chat-70b-fp8-2026-09-28"
    assert (card["root"], card["max_model_len"]) == ("/models/chat-70b-fp8-2026-09-28", 8192)


@pytest.mark.parametrize(
    ("limit", "text", "seconds"),
    [(5, "Tu pedido sale mañana y", 0.46), (8, "Tu pedido sale mañana y llega en dos", 0.58)],
)
def test_l7_a_limit_cuts_the_sentence(lesson: support.Service, limit: int, text: str, seconds: float) -> None:
    took, answer = median_seconds(lesson, chat(QUESTION, max_completion_tokens=limit))
    assert seconds - 0.001 <= took < seconds + 0.15
    assert answer["choices"][0]["message"]["content"] == text
    assert answer["choices"][0]["finish_reason"] == "length"
    usage = answer["usage"]
    assert (usage["prompt_tokens"], usage["completion_tokens"], usage["total_tokens"]) == (4, limit, 4 + limit)


def test_l7_a_stream_of_seven_events(lesson: support.Service) -> None:
    body = chat(QUESTION, max_completion_tokens=4, stream=True, stream_options={"include_usage": True})
    began = time.monotonic()
    with httpx.stream("POST", lesson.url + CHAT, json=body) as response:
        arrivals = [(time.monotonic() - began, piece) for piece in response.iter_text()]
    seen = events("".join(piece for _, piece in arrivals))
    deltas = [event["choices"][0]["delta"]["content"] for event in seen[:5]]
    assert deltas == ["", "Tu", " pedido", " sale", " mañana"]
    assert seen[0]["choices"][0]["delta"]["role"] == "assistant"
    assert [event["choices"][0]["finish_reason"] for event in seen[:5]] == [None, None, None, None, "length"]
    assert (seen[5]["choices"], seen[5]["usage"]["total_tokens"]) == ([], 8)
    assert seen[6] == "[DONE]"
    assert len(events(arrivals[0][1])) == 2  # the role and the first token arrive together
    assert len(arrivals) == 4
    for (at, _), due in zip(arrivals, [0.30, 0.34, 0.38, 0.42], strict=True):
        assert due - 0.001 <= at < due + 0.25


def test_l7_without_a_limit_the_sentence_ends_on_its_last_word(lesson: support.Service) -> None:
    answer = httpx.post(lesson.url + CHAT, json=chat(QUESTION)).json()
    choice, usage = answer["choices"][0], answer["usage"]
    assert (choice["message"]["content"], choice["finish_reason"]) == (SENTENCE, "stop")
    assert (usage["prompt_tokens"], usage["completion_tokens"], usage["total_tokens"]) == (4, 13, 17)
    text = httpx.post(lesson.url + CHAT, json=chat(QUESTION, stream=True)).text
    last = events(text)[-2]["choices"][0]
    assert (last["delta"]["content"], last["finish_reason"]) == (" .", "stop")


def test_l7_the_pace_and_the_sentence_are_the_users() -> None:
    with support.serve("--ttft-ms", "100", "--itl-ms", "10", "--answer", "echo", "--served-model-name", "m") as server:
        took, answer = median_seconds(server, chat("uno dos tres cuatro", model="m"))
        assert 0.129 <= took < 0.23
        assert answer["choices"][0]["message"]["content"] == "uno dos tres cuatro"
        assert answer["model"] == "m"
