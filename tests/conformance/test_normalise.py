"""What varies is put aside, and nothing else."""

import pytest

from mockvllm.conformance.normalise import comparable, normal


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ('"id":"chatcmpl-0123456789abcdef"', '"id":"chatcmpl-fedcba9876543210"'),
        ('"id":"chatcmpl-tool-0123456789abcdef"', '"id":"chatcmpl-tool-00000000000000aa"'),
        ('"id":"msg_0123456789abcdef0123456789abcdef"', '"id":"msg_0123456789abcdef0123456789abcdee"'),
        ('"item_id":"0123456789abcdef"', '"item_id":"0123456789abcdee"'),
        ('"created": 1790000000', '"created": 1790000001'),
        ('"completed_at":1790000000.5', '"completed_at":1790000001'),
        ('"metrics":{"time":0.1}', '"metrics":{"time":0.25}'),
        ('"cached_tokens":0', '"cached_tokens":16'),
        ('"system_fingerprint":"vllm-0.33.0-01234567"', '"system_fingerprint":"vllm-0.33.0-76543210"'),
    ],
)
def test_what_varies_from_run_to_run_is_equal(one: str, other: str) -> None:
    assert normal(one, "0.33.0") == normal(other, "0.33.0")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ('"id":"chatcmpl-mine"', '"id":"chatcmpl-yours"'),
        ('"id":"chatcmpl-0123456789abcdef"', '"id":"cmpl-0123456789abcdef"'),
        ('"created":1790000000', '"created": 1790000000'),
        ('"completion_tokens":13', '"completion_tokens":14'),
        ('"system_fingerprint":"vllm-0.33.0-01234567"', '"system_fingerprint":"vllm-0.32.0-01234567"'),
        ('"created":1790000000', '"created":null'),
    ],
)
def test_what_a_server_chooses_stays_different(one: str, other: str) -> None:
    assert normal(one, "0.33.0") != normal(other, "0.33.0")


def test_headers_of_the_connection_and_the_time_are_not_compared() -> None:
    sent = [("Date", "now"), ("Content-Length", "3"), ("transfer-encoding", "chunked"), ("Content-Type", "a/b")]
    assert comparable(sent) == (("content-type", "a/b"),)


def test_a_request_id_of_the_server_varies_and_one_of_the_client_does_not() -> None:
    assert comparable([("X-Request-Id", "0123456789abcdef" * 2)]) == (("x-request-id", "ID"),)
    assert comparable([("X-Request-Id", "mine")]) == (("x-request-id", "mine"),)


def test_of_a_location_host_and_port_vary() -> None:
    assert comparable([("location", "http://127.0.0.1:8000/v1/models")]) == (("location", "/v1/models"),)
