"""SIGTERM, as recorded from vLLM: refused at once, open streams left hanging until their clients give up."""

import signal
import socket
import time
from collections.abc import Callable

import httpx
import pytest
import support
from server.harness import CHAT, chat

Serve = Callable[..., support.Service]
ENDLESS = ("--answer", "repeat", "--ttft-ms", "20", "--itl-ms", "20")


def refused(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(2)
        return probe.connect_ex(("127.0.0.1", port)) != 0


def test_with_no_stream_open_it_is_gone_within_a_second(serve: Serve) -> None:
    server = serve()
    with httpx.Client(base_url=server.url) as idle:
        idle.get("/health")
        began = time.monotonic()
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(3) == 0
        assert time.monotonic() - began < 1.0


def test_an_open_stream_gets_neither_bytes_nor_an_end_until_its_client_leaves(serve: Serve) -> None:
    server = serve(*ENDLESS)
    with httpx.stream("POST", server.url + CHAT, json=chat(max_tokens=900, stream=True), timeout=0.6) as response:
        pieces = response.iter_raw()
        next(pieces)
        server.process.send_signal(signal.SIGTERM)
        time.sleep(0.3)
        assert refused(server.port)
        with pytest.raises(httpx.ReadTimeout):
            for _ in pieces:
                pass
        assert server.process.poll() is None
    assert server.process.wait(3) == 0


def test_shutdown_timeout_lets_open_streams_end(serve: Serve) -> None:
    server = serve("--ttft-ms", "20", "--itl-ms", "40", "--shutdown-timeout", "5")
    with httpx.stream("POST", server.url + CHAT, json=chat(stream=True), timeout=3) as response:
        pieces = response.iter_text()
        text = next(pieces)
        server.process.send_signal(signal.SIGTERM)
        time.sleep(0.2)
        assert refused(server.port)
        text += "".join(pieces)
    assert text.endswith("data: [DONE]\n\n")
    assert server.process.wait(3) == 0


def test_a_second_signal_ends_at_once(serve: Serve) -> None:
    server = serve(*ENDLESS)
    with httpx.stream("POST", server.url + CHAT, json=chat(max_tokens=900, stream=True), timeout=5) as response:
        next(response.iter_raw())
        server.process.send_signal(signal.SIGTERM)
        time.sleep(0.3)
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(2) == 0
