"""KV events of a running server, on real sockets."""

import json
from collections.abc import Callable

import httpx
import msgspec
import pytest
import support

zmq = pytest.importorskip("zmq", reason="needs the package pyzmq")


def test_a_subscriber_sees_the_blocks_of_a_prompt_and_routers_find_the_publisher(
    serve: Callable[..., support.Service],
) -> None:
    port = support.free_port()
    config = {"enable_kv_cache_events": True, "endpoint": f"tcp://127.0.0.1:{port}", "topic": "kv@x"}
    subscriber = zmq.Context.instance().socket(zmq.SUB)
    subscriber.bind(config["endpoint"])
    subscriber.setsockopt(zmq.SUBSCRIBE, b"kv@")
    try:
        server = serve("--kv-events-config", json.dumps(config), "--ttft-ms", "10", "--itl-ms", "1")
        sources = httpx.get(server.url + "/kv_event_sources").json()
        assert sources["0"]["endpoint"] == config["endpoint"]
        topic, sequence, payload = first_message(subscriber, server)
    finally:
        subscriber.close(0)
    assert topic == b"kv@x"
    assert int.from_bytes(sequence, "big") < 10
    _, (stored,), rank = msgspec.msgpack.decode(payload)
    assert rank == 0
    assert (stored["type"], len(stored["block_hashes"]), stored["block_size"]) == ("BlockStored", 2, 16)
    assert len(stored["token_ids"]) == 32


def first_message(subscriber: zmq.Socket[bytes], server: support.Service) -> list[bytes]:
    """A publisher learns of its subscribers while it publishes: the first batches may be lost, as with vLLM."""
    for number in range(10):
        words = " ".join(f"w{number}-{i}" for i in range(40))
        body = {"messages": [{"role": "user", "content": words}], "max_tokens": 3}
        assert httpx.post(server.url + "/v1/chat/completions", json=body).status_code == 200
        if subscriber.poll(500):
            return subscriber.recv_multipart()
    raise AssertionError("no event arrived")


def test_a_config_that_cannot_be_is_named(serve: Callable[..., support.Service]) -> None:
    with pytest.raises(RuntimeError, match=r"ended with 2 before it served(.|\n)*--kv-events-config.*endpoint"):
        serve("--kv-events-config", '{"enable_kv_cache_events":true,"endpoint":"udp://x"}')
