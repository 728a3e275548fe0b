"""`--kv-events-config`: keys, defaults, rank rules, and one clear line for each mistake."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockvllm.server.kv_events_config import KVEventsConfig, binds, parse, rank_endpoint

DEFAULTS = {
    "enable_kv_cache_events": False,
    "publisher": "null",
    "endpoint": "tcp://*:5557",
    "replay_endpoint": None,
    "buffer_steps": 10_000,
    "hwm": 100_000,
    "max_queue_size": 100_000,
    "topic": "",
}


def as_dict(config: KVEventsConfig) -> dict[str, object]:
    return {name: getattr(config, name) for name in config.__struct_fields__}


@pytest.mark.parametrize("nothing", [None, "{}", {}])
def test_the_defaults_are_vllms_and_events_are_off(nothing: str | None) -> None:
    assert as_dict(parse(nothing)) == DEFAULTS
    assert not parse(nothing).active


def test_enabling_events_selects_zmq_unless_the_publisher_is_null() -> None:
    enabled = parse('{"enable_kv_cache_events": true, "topic": "kv@pod@m"}')
    assert as_dict(enabled) == DEFAULTS | {"enable_kv_cache_events": True, "publisher": "zmq", "topic": "kv@pod@m"}
    assert enabled.active
    assert not parse({"enable_kv_cache_events": True, "publisher": "null"}).active
    assert not parse({"publisher": "zmq"}).active


def test_json_and_the_object_it_stands_for_mean_the_same() -> None:
    text, data = '{"enable_kv_cache_events": true, "hwm": 17}', {"enable_kv_cache_events": True, "hwm": 17}
    assert parse(text) == parse(data) == KVEventsConfig(enable_kv_cache_events=True, hwm=17)


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        ('{"enable_kv_cache_event": true}', "unknown field `enable_kv_cache_event`"),
        ('{"hwm": "many"}', r"Expected `int`, got `str` - at `\$.hwm`"),
        ('{"buffer_steps": -1}', r"Expected `int` >= 0 - at `\$.buffer_steps`"),
        ('{"publisher": "kafka"}', r"'kafka' - at `\$.publisher`"),
        ("{", "Input data was truncated"),
        ("[1]", "Expected `object`, got `array`"),
    ],
)
def test_a_mistake_names_the_flag_and_the_key(value: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=f"^--kv-events-config: .*{complaint}") as raised:
        parse(value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("endpoint", "rank", "expected"),
    [
        ("tcp://*:5557", 0, "tcp://*:5557"),
        ("tcp://*:5557", 3, "tcp://*:5560"),
        ("tcp://[::1]:70", 2, "tcp://[::1]:72"),
        ("tcp://*:0", 4, "tcp://*:0"),
        ("inproc://cache", 0, "inproc://cache"),
        ("inproc://cache", 1, "inproc://cache_dp1"),
        ("ipc:///run/kv", 0, "ipc:///run/kv"),
    ],
)
def test_the_endpoint_of_a_rank(endpoint: str, rank: int, expected: str) -> None:
    assert rank_endpoint(endpoint, rank, "endpoint") == expected


@given(st.integers(1, 60_000), st.integers(0, 5_000))
def test_both_endpoints_move_by_the_rank(port: int, rank: int) -> None:
    config = KVEventsConfig(endpoint=f"tcp://*:{port}", replay_endpoint=f"tcp://h:{port}").for_rank(rank)
    assert (config.endpoint, config.replay_endpoint) == (f"tcp://*:{port + rank}", f"tcp://h:{port + rank}")


@pytest.mark.parametrize(
    ("endpoint", "rank"),
    [
        *(("5557", 0), ("tcp://*", 0), ("tcp://:5557", 0), ("tcp://*:http", 0), ("tcp://*:65535", 1)),
        *(("udp://h:1", 0), ("ipc://", 0), ("ipc:///run/kv", 1)),
    ],
)
def test_an_endpoint_that_cannot_be(endpoint: str, rank: int) -> None:
    with pytest.raises(ValueError, match=r"^--kv-events-config: replay_endpoint ") as raised:
        KVEventsConfig(replay_endpoint=endpoint).for_rank(rank)
    assert repr(endpoint) in str(raised.value)


@pytest.mark.parametrize("endpoint", ["tcp://*:1", "tcp://[::]:1", "ipc:///run/kv", "inproc://kv"])
def test_wildcards_and_local_names_are_bound(endpoint: str) -> None:
    assert binds(endpoint)


@pytest.mark.parametrize("endpoint", ["tcp://127.0.0.1:5557", "tcp://router:5557"])
def test_hosts_are_connected_to(endpoint: str) -> None:
    assert not binds(endpoint)
