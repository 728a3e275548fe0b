"""The events of a stream: what each call of an answer gives, whatever the tokens' grouping."""

import json
from itertools import chain
from typing import Any

import pytest
from chat_client import events, prepare, stream, text_of, whole, words
from hypothesis import given
from hypothesis import strategies as st

from mockvllm.wire.errors import APIError

SENTENCE = "Tu pedido sale mañana y llega en dos o tres días hábiles ."
SERVING = words(answer="repeat")
SHAPES: list[dict[str, Any]] = [
    {},
    {"stop": "zzz"},
    {"logprobs": True, "top_logprobs": 2},
    {"return_token_ids": True},
    {"stream_options": {"include_usage": True, "continuous_usage_stats": True}},
]


@given(st.sampled_from(SHAPES), st.lists(st.integers(1, 4), min_size=1, max_size=6))
def test_chunks_are_one_event_a_token_however_they_are_asked_for(shape: dict[str, Any], sizes: list[int]) -> None:
    one, many = (prepare(SERVING, stream=True, **shape).answer for _ in range(2))
    assert b"".join(one.chunks(0, 1) for _ in range(sum(sizes))) == b"".join(many.chunks(0, size) for size in sizes)


@given(st.sampled_from(SHAPES), st.lists(st.integers(1, 4), min_size=1, max_size=6))
def test_merged_tokens_are_one_event_with_all_they_add(shape: dict[str, Any], sizes: list[int]) -> None:
    one, merged = (prepare(SERVING, stream=True, **shape).answer for _ in range(2))
    singles = events(b"".join(one.chunks(0, 1) for _ in range(sum(sizes))))[1:]
    groups = events(b"".join(merged.merged(0, size) for size in sizes))[1:]
    assert len(groups) == len(sizes)
    for size, group in zip(sizes, groups, strict=True):
        part, singles = singles[:size], singles[size:]
        choices = [event["choices"][0] for event in part]
        choice = group["choices"][0]
        assert choice["delta"]["content"] == "".join(c["delta"]["content"] for c in choices)
        assert group.get("usage") == part[-1].get("usage")
        if choices[0]["token_ids"]:
            assert choice["token_ids"] == list(chain.from_iterable(c["token_ids"] for c in choices))
        if choices[0]["logprobs"]:
            contents = chain.from_iterable(c["logprobs"]["content"] for c in choices)
            assert choice["logprobs"]["content"] == list(contents)


@given(st.sampled_from(SHAPES), st.lists(st.tuples(st.booleans(), st.integers(1, 4)), max_size=6))
def test_single_and_merged_events_may_take_turns(shape: dict[str, Any], calls: list[tuple[bool, int]]) -> None:
    answer = prepare(SERVING, stream=True, **shape).answer
    payload = b"".join(answer.merged(0, n) if merge else answer.chunks(0, n) for merge, n in calls)
    chunks = events(payload + answer.finish(0, 1, "length", None))
    count = sum(n for _, n in calls) + 1
    assert text_of(chunks) == "".join(prepare(SERVING).choices[0].outputs.speech.texts[:count])
    assert answer.num_completion_tokens == count


@given(
    st.integers(1, 40), st.integers(1, 3), st.sampled_from([None, "mañana", ["llega", "y ll"], ["zz"]]), st.booleans()
)
def test_a_stream_adds_up_to_the_whole_answer(max_tokens: int, n: int, stop: Any, include: bool) -> None:
    fields = {"max_tokens": max_tokens, "n": n, "stop": stop, "include_stop_str_in_output": include}
    chunks = stream(SERVING, stream_options={"include_usage": True}, **fields)
    body = whole(SERVING, **fields)
    for choice in body["choices"]:
        assert text_of(chunks, choice["index"]) == choice["message"]["content"]
        (end,) = (
            chunk["choices"][0]
            for chunk in chunks[:-2]
            if chunk["choices"][0]["finish_reason"] and chunk["choices"][0]["index"] == choice["index"]
        )
        assert (end["finish_reason"], end["stop_reason"]) == (choice["finish_reason"], choice["stop_reason"])
    usage = {key: value for key, value in body["usage"].items() if value is not None}
    assert chunks[-2]["usage"] == usage
    assert chunks[-1] == "[DONE]"


@pytest.mark.parametrize(
    ("server", "request_interval", "sizes"),
    [(1, None, [1] * 13), (5, None, [1, 5, 5, 2]), (5, 3, [1, 5, 5, 2]), (2, 6, [1, 6, 6]), (100, None, [1, 12])],
)
def test_an_interval_gathers_tokens_but_the_first_and_the_last(
    server: int, request_interval: int | None, sizes: list[int]
) -> None:
    serving = words(stream_interval=server)
    chunks = stream(serving, **({} if request_interval is None else {"stream_interval": request_interval}))
    assert [len(chunk["choices"][0]["delta"]["content"].split()) for chunk in chunks[1:-1]] == sizes
    assert text_of(chunks) == SENTENCE


def test_an_interval_does_not_delay_the_end_by_a_stop_string() -> None:
    chunks = stream(words(stream_interval=50), stop=["mañana"])
    assert [chunk["choices"][0]["delta"]["content"] for chunk in chunks[1:-1]] == ["", "Tu pedido sale "]


def test_all_roles_come_first_then_the_echo_of_all() -> None:
    messages = [{"role": "user", "content": "hola"}, {"role": "assistant", "content": "Claro:"}]
    flags = {"add_generation_prompt": False, "continue_final_message": True, "echo": True}
    answer = prepare(SERVING, stream=True, n=2, messages=messages, **flags).answer
    opening = [event["choices"][0] for event in events(answer.chunks(1, 1))]
    assert [(choice["index"], choice["delta"]) for choice in opening] == [
        (0, {"role": "assistant", "content": ""}),
        (1, {"role": "assistant", "content": ""}),
        (0, {"content": "Claro:"}),
        (1, {"content": "Claro:"}),
        (1, {"content": "Tu"}),
    ]
    assert len(events(answer.chunks(0, 1))) == 1


def test_a_stop_string_in_the_last_token_goes_before_the_limit() -> None:
    answer = prepare(SERVING, stream=True, stop="mañ").answer
    answer.chunks(0, 3)
    (end,) = events(answer.finish(0, 1, "length", None))
    assert (end["choices"][0]["finish_reason"], end["choices"][0]["stop_reason"]) == ("stop", "mañ")


def test_a_completed_stop_string_ends_the_choice_at_once() -> None:
    answer = prepare(SERVING, stream=True, stop="mañana").answer
    assert answer.can_stop
    answer.chunks(0, 3)
    assert answer.stopped(0) is None
    last = events(answer.chunks(0, 4))
    assert answer.stopped(0) == ("stop", "mañana")
    assert [event["choices"][0]["finish_reason"] for event in last] == ["stop"]
    assert answer.num_completion_tokens == 4


@pytest.mark.parametrize(("profile", "count"), [("0.30", 0), ("0.33", 1)])
def test_an_abort_before_the_first_token_is_told_since_0_32(profile: str, count: int) -> None:
    answer = prepare(words(profile), stream=True).answer
    ends = [event for event in events(answer.finish(0, 0, "abort", None)) if event["choices"][0]["finish_reason"]]
    assert [(end["choices"][0]["delta"], end["choices"][0]["finish_reason"]) for end in ends] == [
        ({"content": ""}, "abort")
    ] * count


@pytest.mark.parametrize(
    ("profile", "event"),
    [
        ("0.30", b'data: {"error": {"message": "\\u00f1", "type": "BadRequestError", "param": null, "code": 400}}'),
        ("0.33", '{"error":{"message":"ñ","type":"BadRequestError","param":null,"code":400}}'.encode()),
    ],
)
def test_an_error_inside_a_stream_ends_it(profile: str, event: bytes) -> None:
    payload = prepare(words(profile), stream=True).answer.failure(APIError(400, "ñ"))
    assert payload.removeprefix(b"data: ") == event.removeprefix(b"data: ") + b"\n\ndata: [DONE]\n\n"


@given(st.text(max_size=30))
def test_any_text_arrives(text: str) -> None:
    said = f"{{{json.dumps({'say': text})[1:-1]}}}"
    chunks = stream(SERVING, mock=json.loads(said))
    assert text_of(chunks) == text
    assert whole(SERVING, mock=json.loads(said))["choices"][0]["message"]["content"] == text


def test_forced_usage_is_in_every_event_whatever_the_request_says() -> None:
    serving = words(enable_force_include_usage=True)
    chunks = stream(serving, stream_options={"include_usage": False}, max_tokens=2)
    assert [chunk["usage"]["completion_tokens"] for chunk in chunks[:-1]] == [0, 1, 2, 2]


def test_continuous_usage_counts_each_choice_alone() -> None:
    options = {"include_usage": True, "continuous_usage_stats": True}
    chunks = stream(SERVING, n=2, max_tokens=2, stream_options=options)
    last = {chunk["choices"][0]["index"]: chunk["usage"]["completion_tokens"] for chunk in chunks[:-2]}
    assert last == {0: 2, 1: 2}
    assert chunks[-2]["usage"]["completion_tokens"] == 4
