"""`mockvllm serve --kv-events-config`: a router that only reads documentation finds the events."""

import json
import subprocess
from collections.abc import Callable
from typing import Any

import httpx
import msgspec
import pytest
import support
import zmq
from subscribers import Connect, replay_until

from mockvllm.profiles import load
from mockvllm.server import kv_events

PROMPT = " ".join(f"word{number}" for number in range(40))
Serve = Callable[..., support.Service]


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VLLM_HOST_IP", "127.0.0.1")
    monkeypatch.setenv("PYTHONHASHSEED", "0")


def serve_with_events(serve: Serve, *flags: str, **keys: Any) -> tuple[support.Service, dict[str, Any]]:
    config = {"enable_kv_cache_events": True, "endpoint": "tcp://*:0", "replay_endpoint": "tcp://*:0"} | keys
    server = serve("--ttft-ms", "1", "--itl-ms", "1", "--kv-events-config", json.dumps(config), *flags)
    return server, httpx.get(f"{server.url}/kv_event_sources").json()


def ask(server: support.Service) -> None:
    body = {"messages": [{"role": "user", "content": PROMPT}], "max_tokens": 2}
    httpx.post(f"{server.url}/v1/chat/completions", json=body).raise_for_status()


@pytest.mark.parametrize("rank", [0, 3])
def test_blocks_of_a_chat_are_announced_with_vllms_hashes(serve: Serve, connect: Connect, rank: int) -> None:
    flags = ("--data-parallel-rank", str(rank), "--data-parallel-size", "4") if rank else ()
    server, sources = serve_with_events(serve, *flags, topic="kv@pod")
    source = sources[str(rank)]
    sub, dealer = connect(zmq.SUB, source["endpoint"]), connect(zmq.DEALER, source["replay_endpoint"])
    sub.subscribe("kv@")
    ask(server)
    _, topic, seq, payload = replay_until(dealer, 1)[0]
    assert (topic, seq) == (b"kv@pod", bytes(8))
    _, events, said_rank = msgspec.msgpack.decode(payload)
    stored = events[0]
    assert (said_rank, stored["type"], len(stored["token_ids"])) == (rank, "BlockStored", 32)
    hasher = kv_events.block_hasher("sha256", load("0.33").scheduler, {"PYTHONHASHSEED": "0"})
    first = hasher(None, tuple(stored["token_ids"][:16]), None)
    second = hasher(first, tuple(stored["token_ids"][16:]), None)
    assert stored["block_hashes"] == [int.from_bytes(block[-8:], "big") for block in (first, second)]
    ask(server)  # a hit says nothing
    assert len(replay_until(dealer, 1)) == 1


def test_another_profile_writes_its_own_bytes(serve: Serve, connect: Connect) -> None:
    server, sources = serve_with_events(serve, "--profile", "0.32")
    ask(server)
    dealer = connect(zmq.DEALER, sources["0"]["replay_endpoint"])
    payload = replay_until(dealer, 1)[0][3]
    assert payload[11:12].hex() == "8b"


def test_without_events_there_are_no_sources(serve: Serve) -> None:
    assert httpx.get(f"{serve().url}/kv_event_sources").json() == {}


@pytest.mark.parametrize(
    ("config", "complaint"),
    [
        ('{"enable_kv_cache_events": true, "hwm": "x"}', "--kv-events-config: Expected `int`, got `str` - at `$.hwm`"),
        ('{"enable_kv_cache_events": true, "port": 1}', "--kv-events-config: Object contains unknown field `port`"),
        (
            '{"enable_kv_cache_events": true, "endpoint": "tcp://*"}',
            "--kv-events-config: endpoint 'tcp://*' needs tcp",
        ),
    ],
)
def test_a_wrong_config_exits_2_with_one_line(config: str, complaint: str) -> None:
    argv = support.mockvllm("serve", "--port", str(support.free_port()), "--kv-events-config", config)
    done = subprocess.run(argv, capture_output=True, text=True, timeout=30)
    assert done.returncode == 2
    assert complaint in done.stderr
    assert done.stderr.count("\n") == 1
