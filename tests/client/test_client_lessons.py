"""The lessons that need both ends: our client against our server, with the lesson's figures and with others."""

import asyncio
import json
import subprocess
import time
from collections.abc import Callable
from typing import Any

import httpx
import pytest
import support
from mockvllm_client.stream import open_client, stream
from mockvllm_client.transcript import Transcript
from patience import patient

Serve = Callable[..., support.Service]

pytestmark = pytest.mark.slow

LESSON = (100, 500, 40, 2000, 30)  # queue, ttft, itl (ms), prompt and output tokens
OTHER = (50, 300, 25, 333, 21)


def chat(url: str, *flags: str) -> dict[str, Any]:
    run = subprocess.run(support.mockvllm("chat", *flags, "--url", url, "--json"), capture_output=True, timeout=60)
    assert run.returncode == 0, run.stderr.decode()
    found: dict[str, Any] = json.loads(run.stdout)
    return found


def at(chat: dict[str, Any], side: str, what: str) -> float:
    """When the link that says `what` was."""
    return float(next(link["t"] for link in chat["chain"] if link["side"] == side and what in link["what"]))


@pytest.mark.parametrize("lesson", [LESSON, OTHER], ids=["lesson", "other"])
@patient
def test_l2_the_chain_and_what_a_buffering_proxy_does(serve: Serve, lesson: tuple[int, int, int, int, int]) -> None:
    queue, ttft, itl, prompt, output = lesson
    times = ("--queue-ms", str(queue), "--ttft-ms", str(ttft), "--itl-ms", str(itl))
    server = serve("--answer", "repeat", *times)
    ask = ("hola", "--prompt-tokens", str(prompt), "--max-tokens", str(output))
    direct, held = chat(server.url, *ask), chat(server.url, *ask, "--through", "full")
    end = (ttft + (output - 1) * itl) / 1000

    for found in (direct, held):  # the engine works alike, whoever stands in between
        assert found["usage"] == {"prompt_tokens": prompt, "completion_tokens": output, "total_tokens": prompt + output}
        assert (found["finish_reason"], found["journal"]["state"]) == ("length", "finished")
        assert at(found, "server", "tokenizer") == pytest.approx(0, abs=0.01)
        assert at(found, "server", "scheduler") == pytest.approx(queue / 1000, abs=0.02)
        prefilled = at(found, "server", f"its KV is in {-(-prompt // 16)} blocks of 16; token 1 leaves")
        assert prefilled == pytest.approx(ttft / 1000, abs=0.02)
        assert at(found, "server", f"end: {output} tokens = max_tokens -> length") == pytest.approx(end, abs=0.02)
        assert end <= found["e2e_s"] < end + 0.04
        assert [link["what"] for link in found["chain"] if link["side"] == "client"][-2] == "[DONE]"

    assert ttft / 1000 <= direct["ttft_s"] < ttft / 1000 + 0.02
    assert direct["tpot_ms"] == pytest.approx(itl, abs=0.3)
    assert direct["itl_p50_ms"] == pytest.approx(itl, abs=1)
    assert f"{output - 2} more events, one each {itl} ms" in [link["what"] for link in direct["chain"]]
    assert direct["delay_p50_ms"] < 10

    assert held["ttft_s"] == held["e2e_s"]
    assert held["tpot_ms"] == held["itl_p50_ms"] == 0
    assert held["delay_max_ms"] == pytest.approx((output - 1) * itl, abs=20)
    assert (direct["verdict"], held["verdict"]) == ("STREAMING", "BUFFERED(full)")


@patient
def test_l2_tokens_per_second(serve: Serve) -> None:
    server = serve("--answer", "repeat", "--ttft-ms", "500", "--itl-ms", "40")
    assert chat(server.url, "hola", "--max-tokens", "30")["tokens_per_s"] == pytest.approx(18, abs=0.4)


@pytest.mark.parametrize("said", [None, "Otra frase , ñandú 你好"])
def test_l8_reading_the_stream_to_its_end(serve: Serve, said: str | None) -> None:
    server = serve("--ttft-ms", "20", "--itl-ms", "5")
    question = "¿Cuándo llega mi pedido?" if said is None else f"[[say]]{said}[[/say]]"
    found = chat(server.url, question)
    assert found["text"] == (said or "Tu pedido sale mañana y llega en dos o tres días hábiles .")
    assert found["finish_reason"] == "stop"
    if said is None:
        assert found["usage"] == {"prompt_tokens": 4, "completion_tokens": 13, "total_tokens": 17}


@patient
def test_a_server_that_sends_all_at_once_is_not_taken_for_a_proxy(serve: Serve) -> None:
    server = serve("--answer", "repeat", "--ttft-ms", "100", "--itl-ms", "0")
    assert chat(server.url, "hola", "--max-tokens", "40")["verdict"] == "STREAMING"


@pytest.mark.parametrize("buffer", ["off", "full", "bytes:1000000"])
@patient
def test_a_client_that_leaves_through_the_proxy_ends_the_request(serve: Serve, buffer: str) -> None:
    server = serve("--answer", "repeat", "--ttft-ms", "50", "--itl-ms", "20")
    with support.proxy(server.url, "--buffer", buffer) as proxy, pytest.raises(TimeoutError):
        asyncio.run(asyncio.wait_for(listen(proxy.url), 0.6))
    entry = journal(server.url, "chatcmpl-leaver")
    assert entry["state"] == "aborted_client"
    assert 0.5 < entry["timeline"]["client_closed"]["t"] < 1.1
    assert 15 < entry["tokens_written"] < 60


async def listen(url: str) -> None:
    body = {"messages": [{"role": "user", "content": "hola"}], "max_tokens": 500, "stream": True}
    async with open_client(url) as client:
        headers = {"x-request-id": "leaver"}
        request = client.build_request("POST", f"{url}/v1/chat/completions", json=body, headers=headers)
        async for _ in stream(client, request, Transcript()):
            pass


def journal(url: str, request_id: str) -> dict[str, Any]:
    """The entry of a request once it has ended."""
    deadline = time.monotonic() + 2
    while True:
        found: dict[str, Any] = httpx.get(f"{url}/mock/requests/{request_id}", trust_env=False).json()
        if found["state"] not in ("queued", "running") or time.monotonic() > deadline:
            return found
        time.sleep(0.02)
