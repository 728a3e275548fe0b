"""What a client can get wrong: it gets vLLM's error, or is held at no cost to others, and the server keeps serving."""

import json
import socket
import struct
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import httpx
import pytest
import support
from server.harness import CHAT, chat, content

Serve = Callable[..., support.Service]


@pytest.fixture(scope="module")
def server() -> Iterator[support.Service]:
    with support.serve("--ttft-ms", "20", "--itl-ms", "5") as running:
        yield running


@pytest.fixture(autouse=True)
def _still_serves(server: support.Service) -> Iterator[None]:
    yield
    answer = httpx.post(server.url + CHAT, json=chat(max_tokens=2), timeout=5).json()
    assert answer["choices"][0]["message"]["content"] == "Tu pedido"


def post(server: support.Service, body: bytes, content_type: str = "application/json") -> httpx.Response:
    return httpx.post(server.url + CHAT, content=body, headers={"content-type": content_type}, timeout=30)


@pytest.mark.parametrize(
    ("body", "type_", "param"),
    [
        (b"{bad json", "Bad Request", "body.1"),
        (b"", "Bad Request", "body"),
        (b"[]", "Bad Request", "body"),
        (b'{"messages":[],"model":5}', "Bad Request", "body.model"),
        (b'{"messages":[{"role":"user","content":"x"}],"max_tokens":"many"}', "Bad Request", "body.max_tokens"),
        (b'{"messages":[{"role":"user","content":"x"}],"temperature":3}', "BadRequestError", "temperature"),
        (b'{"messages":[{"role":"user","content":"x"}],"max_tokens":0}', "BadRequestError", "max_tokens"),
        (b'\xff\xfe{"messages": 1}', "Bad Request", None),
    ],
)
def test_bad_bodies_are_refused_in_vllms_way(
    server: support.Service, body: bytes, type_: str, param: str | None
) -> None:
    answer = post(server, body)
    assert answer.status_code == 400
    error = answer.json()["error"]
    assert error["type"] == type_
    assert error["code"] == 400
    if param:
        assert error["param"] == param


def test_a_stream_that_is_refused_is_no_stream(server: support.Service) -> None:
    answer = post(server, json.dumps(chat(stream=True, max_tokens=-1)).encode())
    assert (answer.status_code, answer.headers["content-type"]) == (400, "application/json")


def test_an_unknown_model_is_404_with_the_names_there_are(server: support.Service) -> None:
    answer = post(server, json.dumps(chat(model="gpt-7")).encode())
    assert answer.status_code == 404
    message = "The model `gpt-7` does not exist. Valid aliases: chat-70b-fp8-2026-09-28."
    assert answer.json()["error"]["message"] == message


def test_too_long_a_prompt_names_the_window(server: support.Service) -> None:
    answer = post(server, json.dumps(chat("w " * 9000)).encode())
    assert answer.status_code == 400
    assert "maximum context length is 8192 tokens" in answer.json()["error"]["message"]


def test_a_body_of_50_mb_is_read_and_refused_for_its_length(server: support.Service) -> None:
    answer = post(server, json.dumps(chat("w" + " w" * 25_000_000)).encode())
    assert answer.status_code == 400
    assert "maximum context length" in answer.json()["error"]["message"]


def test_idle_and_half_sent_connections_cost_no_seat(server: support.Service) -> None:
    with ExitStack() as stack:
        for number in range(500):
            connection = stack.enter_context(socket.create_connection(("127.0.0.1", server.port)))
            if number % 2:
                head = b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                connection.sendall(head + b'Content-Length: 500\r\n\r\n{"messages":')
        began = time.monotonic()
        text = httpx.post(server.url + CHAT, json=chat(stream=True), timeout=5).text
        assert content(text).startswith("Tu pedido sale")
        assert time.monotonic() - began < 2
        metrics = httpx.get(server.url + "/metrics").text
        assert 'vllm:num_requests_running{engine="0",model_name="chat-70b-fp8-2026-09-28"} 0.0' in metrics


def test_what_is_not_http_is_answered_and_closed(server: support.Service) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=5) as connection:
        connection.sendall(b"\x16\x03\x01 hello\r\n\r\n")
        answer = b"".join(iter(lambda: connection.recv(4096), b""))
    assert answer.startswith(b"HTTP/1.1 400 Bad Request")
    assert answer.endswith(b"Invalid HTTP request received.")


@pytest.mark.parametrize(("how", "linger"), [("rst", struct.pack("ii", 1, 0)), ("fin", None)])
def test_the_journal_tells_how_a_client_left(server: support.Service, how: str, linger: bytes | None) -> None:
    body = json.dumps(chat(stream=True, ignore_eos=True, max_tokens=4000)).encode()
    head = f"POST {CHAT} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nX-Request-Id: left-{how}\r\n"
    with socket.create_connection(("127.0.0.1", server.port), timeout=5) as connection:
        connection.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        while b"pedido" not in connection.recv(4096):
            pass
        if linger:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    entry = {}
    for _ in range(50):
        entry = httpx.get(f"{server.url}/mock/requests/left-{how}").json()
        if entry["state"] != "running":
            break
        time.sleep(0.02)
    assert entry["state"] == "aborted_client"
    closed = entry["timeline"]["client_closed"]
    assert closed["how"] == how
    assert 0 <= entry["timeline"]["blocks_freed"] - closed["t"] < 0.05
    assert entry["tokens_written"] >= 2


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--port", "70000"], ["--port", "70000"]),
        (["--max-num-seqs", "64", "--max-num-batched-tokens", "8"], ["max_num_batched_tokens", "8", "64"]),
        (["--num-gpu-blocks-override", "10"], ["max seq len (8192)"]),
        (["--profile", "0.29"], ["--profile", "0.29"]),
        (["--tokenizer", "/nowhere"], ["--tokenizer", "/nowhere"]),
        (["--ttft-ms", "-1"], ["--ttft-ms", "-1"]),
        (["--frobnicate"], ["--frobnicate"]),
    ],
)
def test_flags_that_cannot_be_are_refused_in_one_line(flags: list[str], words: list[str]) -> None:
    run = subprocess.run(support.mockvllm("serve", *flags), capture_output=True, text=True, timeout=30)
    assert run.returncode == 2
    assert len(run.stderr.strip().splitlines()) == 1
    for word in words:
        assert word in run.stderr


def test_a_port_that_is_taken_is_named(server: support.Service) -> None:
    command = support.mockvllm("serve", "--host", "127.0.0.1", "--port", str(server.port))
    run = subprocess.run(command, capture_output=True, text=True, timeout=30)
    assert run.returncode == 1
    assert f"127.0.0.1:{server.port}" in run.stderr.strip().splitlines()[-1]
