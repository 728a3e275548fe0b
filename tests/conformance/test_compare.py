"""The first thing that differs is named, with both sides."""

import json

import pytest

from mockvllm.conformance.compare import Comparison
from mockvllm.conformance.recordings import Answer

SAME = Comparison("0.33.0", "0.33.0")
JSON = (("content-type", "application/json"),)


def answer(body: str = "{}", status: int = 200, headers: tuple[tuple[str, str], ...] = JSON) -> Answer:
    return Answer(status, headers, body)


def stream(*words: str, index: int = 0) -> Answer:
    events = [{"choices": [{"index": index, "delta": {"content": word}, "finish_reason": None}]} for word in words]
    return answer("".join(f"data: {json.dumps(event)}\n\n" for event in events) + "data: [DONE]\n\n")


def what(expected: Answer, got: Answer, comparison: Comparison = SAME) -> str | None:
    found = comparison.difference(expected, got)
    return None if found is None else found.what


def test_equal_answers_have_no_difference() -> None:
    assert what(answer('{"created":1}'), answer('{"created":2}')) is None


@pytest.mark.parametrize(
    ("got", "named"),
    [
        (answer('{"a":1,"b":2}', 400), "status"),
        (answer('{"a":1,"b":2}', headers=(*JSON, ("vary", "Origin"))), "headers"),
        (answer('{"b":2,"a":1}'), "key order or spacing"),
        (answer('{"a": 1, "b": 2}'), "key order or spacing"),
        (answer('{"a":1,"b":3}'), "body"),
        (answer('{"a":1'), "body"),
        (stream("a"), "body"),
    ],
)
def test_a_difference_is_named(got: Answer, named: str) -> None:
    assert what(answer('{"a":1,"b":2}'), got) == named


def test_both_sides_begin_shortly_before_they_part() -> None:
    found = SAME.difference(answer("x" * 500 + "left"), answer("x" * 500 + "right"))
    assert found is not None
    assert (found.expected, found.got) == ("x" * 80 + "left", "x" * 80 + "right")


def test_of_headers_only_those_that_differ_are_shown() -> None:
    found = SAME.difference(answer(headers=(("a", "1"), ("b", "1"))), answer(headers=(("a", "1"), ("b", "2"))))
    assert found is not None
    assert (found.expected, found.got) == ("b: 1", "b: 2")


def test_a_stream_names_the_event_and_the_choice() -> None:
    assert what(stream("a", "b"), stream("a", "c")) == "event 1 of choice 0"
    assert what(stream("a", index=1), stream("b", index=1)) == "event 0 of choice 1"


def test_a_stream_without_its_end_differs() -> None:
    cut = answer(stream("a").body_text.removesuffix("data: [DONE]\n\n"))
    assert what(stream("a"), cut) == "event 0"


def test_merged_tokens_are_equal_unless_the_interval_is_the_point() -> None:
    assert what(stream("a", "b", "c"), stream("a", "bc")) is None
    exact = Comparison("0.33.0", "0.33.0", exact_events=True)
    assert what(stream("a", "b", "c"), stream("a", "bc"), exact) == "event 1 of choice 0"


def test_each_side_names_its_own_version() -> None:
    one, other = (answer(f'{{"system_fingerprint":"vllm-{version}-01234567"}}') for version in ("0.30.0", "0.33.0"))
    assert what(one, other, Comparison("0.30.0", "0.33.0")) is None
    assert what(one, other) == "body"


def test_by_shape_another_text_is_equal_and_another_key_is_not() -> None:
    by_shape = Comparison("0.33.0", "0.33.0", by_shape=True)
    assert what(answer('{"text":"a","n":1}'), answer('{"text":"b","n":2.5}'), by_shape) is None
    assert what(answer('{"text":"a","n":1}'), answer('{"text":"b","n":true}'), by_shape) == "shape"
    assert what(answer('{"text":"a","n":1}'), answer('{"n":1,"text":"a"}'), by_shape) == "shape"
    assert what(stream("a", "b", "c"), stream("some", "thing"), by_shape) is None


def test_by_shape_the_text_of_an_error_still_counts() -> None:
    by_shape = Comparison("0.33.0", "0.33.0", by_shape=True)
    assert what(answer('{"error":"a"}', 400), answer('{"error":"b"}', 400), by_shape) == "body"
