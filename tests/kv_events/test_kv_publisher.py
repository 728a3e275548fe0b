"""The publisher on real sockets: frames, replay, ranks, and what it does when it cannot."""

import logging
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest
import zmq
from subscribers import TIMEOUT_MS, Connect, context, replay, replay_until

from mockvllm.server.kv_events_config import KVEventsConfig
from mockvllm.server.kv_publisher import END_SEQ, ZmqPublisher
from mockvllm.server.kv_wire import Batch

Start = Callable[..., ZmqPublisher]


def batch(number: int) -> Batch:
    return Batch(number, ())


def encode(batch: Batch) -> bytes:
    return msgspec.msgpack.encode(int(batch.ts))


decode = msgspec.msgpack.Decoder(int).decode


@pytest.fixture
def start(monkeypatch: pytest.MonkeyPatch) -> Iterator[Start]:
    monkeypatch.setenv("VLLM_HOST_IP", "127.0.0.1")
    publishers = []

    def start(**keys: Any) -> ZmqPublisher:
        keys = {"endpoint": "tcp://*:0", "replay_endpoint": "tcp://*:0"} | keys
        publishers.append(ZmqPublisher(KVEventsConfig(enable_kv_cache_events=True, **keys), encode))
        return publishers[-1]

    yield start
    for publisher in publishers:
        publisher.close()
        publisher.close()  # a second time does no harm


def test_a_subscriber_gets_topic_sequence_and_payload(start: Start, connect: Connect) -> None:
    publisher = start(topic="kv@ñ")
    sub = connect(zmq.SUB, publisher.config.endpoint)
    sub.subscribe("kv@")
    published = 0
    while not sub.poll(20):  # the subscription takes its time to arrive
        publisher.publish(batch(published))
        published += 1
        assert published < TIMEOUT_MS / 20
    first = sub.recv_multipart()
    seq = int.from_bytes(first[1], "big")
    assert first == ["kv@ñ".encode(), seq.to_bytes(8, "big"), encode(batch(seq))]
    publisher.publish(batch(published))
    seqs = [seq]
    while seqs[-1] < published:
        seqs.append(int.from_bytes(sub.recv_multipart()[1], "big"))
    assert seqs == list(range(seq, published + 1))


def test_replay_gives_every_kept_batch_from_the_start_asked_for(start: Start, connect: Connect) -> None:
    publisher = start(topic="t")
    dealer = connect(zmq.DEALER, publisher.config.replay_endpoint)
    assert replay(dealer, 0) == [[b"", b"", END_SEQ, b""]]
    for n in range(6):
        publisher.publish(batch(n))
    replay_until(dealer, 6)
    for first in (0, 4, 5, 6, 1_000_000):
        kept = [[b"", b"t", n.to_bytes(8, "big"), encode(batch(n))] for n in range(first, 6)]
        assert replay(dealer, first) == [*kept, [b"", b"", END_SEQ, b""]]


def test_only_the_last_buffer_steps_are_kept(start: Start, connect: Connect) -> None:
    publisher = start(buffer_steps=3)
    dealer = connect(zmq.DEALER, publisher.config.replay_endpoint)
    for n in range(10):
        publisher.publish(batch(n))
    last = [7, 8, 9]
    while [int.from_bytes(answer[2], "big") for answer in replay(dealer, 0)[:-1]] != last:
        pass
    assert [int.from_bytes(answer[2], "big") for answer in replay(dealer, 8)[:-1]] == [8, 9]


@pytest.mark.slow
def test_a_whole_default_buffer_fits_one_replay(start: Start, connect: Connect) -> None:
    publisher = start()
    dealer = connect(zmq.DEALER, publisher.config.replay_endpoint)
    for n in range(12_000):
        publisher.publish(batch(n))
    while len(replay(dealer, 11_999)) < 2:
        pass
    answers = replay(dealer, 2_000)
    assert [int.from_bytes(answer[2], "big") for answer in answers[:-1]] == list(range(2_000, 12_000))


def test_a_req_socket_reads_the_first_answer(start: Start, connect: Connect) -> None:
    publisher = start()
    dealer = connect(zmq.DEALER, publisher.config.replay_endpoint)
    publisher.publish(batch(0))
    replay_until(dealer, 1)
    req = connect(zmq.REQ, publisher.config.replay_endpoint)
    req.send((0).to_bytes(8, "big"))
    assert req.recv_multipart() == [b"", (0).to_bytes(8, "big"), encode(batch(0))]


def test_a_request_of_another_shape_is_logged_and_not_answered(
    start: Start, connect: Connect, caplog: pytest.LogCaptureFixture
) -> None:
    publisher = start()
    dealer = connect(zmq.DEALER, publisher.config.replay_endpoint)
    with caplog.at_level(logging.WARNING):
        dealer.send((0).to_bytes(8, "big"))
        dealer.send_multipart((b"", b"", (0).to_bytes(8, "big")))
        assert replay(dealer, 0) == [[b"", b"", END_SEQ, b""]]
    assert [record.message.split(":")[0] for record in caplog.records] == ["Invalid replay request"] * 2


def test_port_zero_takes_a_free_port_and_says_which(start: Start) -> None:
    one, two = start(), start()
    endpoints = {one.config.endpoint, two.config.endpoint, one.config.replay_endpoint, two.config.replay_endpoint}
    assert len(endpoints) == 4
    assert all(endpoint and endpoint.startswith("tcp://127.0.0.1:") for endpoint in endpoints)


def test_a_publisher_connects_to_a_host(start: Start) -> None:
    with context().socket(zmq.SUB) as sub:
        port = sub.bind_to_random_port("tcp://127.0.0.1")
        sub.subscribe("")
        publisher = start(endpoint=f"tcp://127.0.0.1:{port}", replay_endpoint=None)
        for n in range(TIMEOUT_MS // 20):
            publisher.publish(batch(n))
            if sub.poll(20):
                break
        assert decode(sub.recv_multipart()[2]) <= n


@pytest.mark.parametrize("key", ["endpoint", "replay_endpoint"])
def test_a_port_in_use_is_an_error_that_names_the_key(start: Start, key: str) -> None:
    taken = start().config.endpoint
    busy = taken.replace("127.0.0.1", "*")
    with pytest.raises(ValueError, match=rf"^--kv-events-config: {key} '{busy.replace('*', '.')}': Address already in"):
        start(**{key: busy})


def test_a_full_queue_drops_batches_and_their_numbers(start: Start, connect: Connect) -> None:
    publisher = start(max_queue_size=1)
    sent = 0
    while not publisher.dropped:
        publisher.publish(batch(sent))
        sent += 1
    dealer = connect(zmq.DEALER, publisher.config.replay_endpoint)
    kept = [int.from_bytes(answer[2], "big") for answer in replay(dealer, 0)[:-1]]
    assert sent - 1 not in kept
    assert kept == sorted(set(kept))


def test_closing_publishes_what_is_queued(start: Start, connect: Connect) -> None:
    publisher = start()
    sub = connect(zmq.SUB, publisher.config.endpoint)
    sub.subscribe("")
    while not sub.poll(20):
        publisher.publish(batch(-1))
    for n in range(500):
        publisher.publish(batch(n))
    publisher.close()
    while (first := decode(sub.recv_multipart()[2])) < 0:
        pass
    assert [first, *(decode(sub.recv_multipart()[2]) for _ in range(499))] == list(range(500))
