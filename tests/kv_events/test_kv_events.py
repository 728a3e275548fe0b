"""From the flag's value to the socket: the engine's events reach subscribers as recorded, rank by rank."""

import sys
from collections.abc import Iterator
from typing import Any

import pytest
import recordings
import zmq
from subscribers import Connect, Socket, replay, replay_until

from mockvllm.profiles import load
from mockvllm.server import kv_events
from mockvllm.server.kv_events import KVEvents, sources
from mockvllm.server.kv_events_config import parse
from mockvllm.server.kv_publisher import END_SEQ

RECORDED = {name: recordings.load(f"wire_{name}") for name in ("0.30", "0.32", "0.33", "bytes", "topic_rank2")}


def start(recorded: dict[str, Any], **keys: Any) -> KVEvents:
    config, env = recorded["config"], recorded["env"]
    endpoints = {"endpoint": "tcp://*:0", "replay_endpoint": "tcp://*:0"}
    flag = {"enable_kv_cache_events": True, "topic": config["topic"]} | endpoints | keys
    listener = kv_events.start(
        parse(flag),
        config["data_parallel_rank"],
        recordings.rules_of(recorded),
        {name: str(value) for name, value in env.items() if value is not None},
        recordings.labels,
        recordings.pinned_time().__next__,
    )
    assert listener is not None
    return listener


@pytest.fixture(autouse=True)
def own_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VLLM_HOST_IP", "127.0.0.1")


@pytest.fixture(params=RECORDED)
def played(request: pytest.FixtureRequest) -> Iterator[tuple[KVEvents, list[list[bytes]]]]:
    """A publisher whose engine has run the recorded requests, and the recorded frames."""
    recorded = RECORDED[request.param]
    listener = start(recorded)
    recordings.play(recorded, recordings.engine_of(recorded, listener))
    yield listener, [[bytes.fromhex(frame) for frame in frames] for frames in recorded["messages"]]
    listener.publisher.close()


def test_replay_gives_the_recorded_frames(played: tuple[KVEvents, list[list[bytes]]], connect: Connect) -> None:
    listener, frames = played
    dealer = connect(zmq.DEALER, listener.publisher.config.replay_endpoint)
    assert replay_until(dealer, len(frames)) == [[b"", *frame] for frame in frames]
    for first in (9, 1_000_000):
        assert replay(dealer, first) == [*([b"", *frame] for frame in frames[first:]), [b"", b"", END_SEQ, b""]]


@pytest.mark.parametrize("name", RECORDED)
def test_a_subscriber_that_joined_late_asks_for_what_it_missed(name: str, connect: Connect) -> None:
    recorded = RECORDED[name]
    listener = start(recorded)
    try:
        config = listener.publisher.config
        sub, dealer = connect(zmq.SUB, config.endpoint), connect(zmq.DEALER, config.replay_endpoint)
        sub.subscribe(config.topic)
        recordings.play(recorded, recordings.engine_of(recorded, listener))
        seen = {frames[1]: frames for frames in receive_until_quiet(sub)}
        missed = {frames[2]: frames[1:] for frames in replay_until(dealer, len(recorded["messages"]))}
        expected = [[bytes.fromhex(frame) for frame in frames] for frames in recorded["messages"]]
        assert [(missed | seen)[frames[1]] for frames in expected] == expected
    finally:
        listener.publisher.close()


def receive_until_quiet(sub: Socket) -> list[list[bytes]]:
    received = []
    while sub.poll(100):
        received.append(sub.recv_multipart())
    return received


def test_each_rank_has_its_own_endpoints_and_names_itself(connect: Connect) -> None:
    recorded, rules = RECORDED["0.33"], load("0.33").scheduler
    config = parse({"enable_kv_cache_events": True, "endpoint": "inproc://ranks", "replay_endpoint": "tcp://*:0"})
    listeners = {}
    try:
        for rank in (0, 1, 3):
            listener = kv_events.start(config, rank, rules, {})
            assert listener is not None
            listeners[rank] = listener
            recordings.play(recorded, recordings.engine_of(recorded, listener))
        said = sources(listeners)
        assert [said[rank]["endpoint"] for rank in ("0", "1", "3")] == [
            "inproc://ranks", "inproc://ranks_dp1", "inproc://ranks_dp3"
        ]  # fmt: skip
        for name, source in said.items():
            dealer = connect(zmq.DEALER, source["replay_endpoint"])
            batches = replay_until(dealer, len(recorded["messages"]))
            assert [batch[3][-1] for batch in batches] == [int(name)] * len(batches)
    finally:
        for listener in listeners.values():
            listener.publisher.close()


def test_sources_show_what_the_flag_asked_for_and_what_was_bound() -> None:
    listener = start(RECORDED["topic_rank2"], hwm=7)
    try:
        source = sources({2: listener})["2"]
        assert source.pop("endpoint").startswith("tcp://127.0.0.1:")
        assert source.pop("replay_endpoint").startswith("tcp://127.0.0.1:")
        assert source == {
            "enable_kv_cache_events": True,
            "publisher": "zmq",
            "buffer_steps": 10_000,
            "hwm": 7,
            "max_queue_size": 100_000,
            "topic": "kv@node-1@m",
        }
    finally:
        listener.publisher.close()
    assert sources({}) == {}


def test_events_that_are_off_start_nothing() -> None:
    rules = load("0.33").scheduler
    assert kv_events.start(parse(None), 0, rules, {}) is None
    assert kv_events.start(parse({"enable_kv_cache_events": True, "publisher": "null"}), 0, rules, {}) is None


def test_without_pyzmq_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mockvllm.server.kv_publisher", None)
    with pytest.raises(ValueError, match=r"--kv-events-config needs the package pyzmq: pip install 'mockvllm\[kv-ev"):
        kv_events.start(parse({"enable_kv_cache_events": True}), 0, load("0.33").scheduler, {})


@pytest.mark.parametrize("environ", [{}, {"PYTHONHASHSEED": "0"}])
def test_the_hasher_follows_the_environment(environ: dict[str, str]) -> None:
    rules = load("0.33").scheduler
    one, two = (kv_events.block_hasher("sha256", rules, environ) for _ in range(2))
    assert one.none_hash == two.none_hash
    assert (one.none_hash == kv_events.block_hasher("sha256", rules, {}).none_hash) is not bool(environ)


def test_xxhash_without_a_seed_is_different_in_every_process() -> None:
    rules = load("0.33").scheduler
    one, two = (kv_events.block_hasher("xxhash", rules, {}) for _ in range(2))
    assert one.none_hash != two.none_hash
