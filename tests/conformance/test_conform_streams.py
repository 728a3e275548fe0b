"""Events by choice, and without their borders."""

import json
from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from mockvllm.conformance.streams import by_choice, folded, is_stream

WORDS = [f" w{n}" for n in range(9)]
Borders = st.sets(st.integers(1, len(WORDS) - 2))


def chunk(index: int, content: str, tokens: list[int], finish_reason: str | None = None, **more: Any) -> str:
    choice = {"index": index, "delta": {"content": content}, "token_ids": tokens, "finish_reason": finish_reason}
    return "data: " + json.dumps({"id": "x", "choices": [choice | more]})


def stream(borders: set[int], index: int = 0) -> list[str]:
    """The words in events that end at the borders; the last one ends the choice."""
    cuts = [0, *sorted(borders), len(WORDS) - 1, len(WORDS)]
    pieces = [(list(range(start, stop)), "".join(WORDS[start:stop])) for start, stop in pairwise(cuts)]
    *before, (tokens, text) = pieces
    return [chunk(index, said, ids) for ids, said in before] + [chunk(index, text, tokens, "length")]


@given(Borders, Borders)
def test_wherever_tokens_are_merged_the_choice_is_the_same(one: set[int], other: set[int]) -> None:
    assert folded(stream(one)) == folded(stream(other))


def test_a_finish_that_took_a_token_in_is_the_same() -> None:
    assert folded([chunk(0, "a", [1]), chunk(0, "b", [2]), chunk(0, "c", [3], "stop")]) == folded(
        [chunk(0, "a", [1]), chunk(0, "bc", [2, 3], "stop")]
    )


def test_other_words_other_tokens_other_keys_are_not() -> None:
    usual = folded([chunk(0, "a", [1]), chunk(0, "b", [2], "stop")])
    assert usual != folded([chunk(0, "a", [1]), chunk(0, "c", [2], "stop")])
    assert usual != folded([chunk(0, "a", [1]), chunk(0, "b", [3], "stop")])
    assert usual != folded([chunk(0, "a", [1]), chunk(0, "b", [2], "length")])
    assert usual != folded([chunk(0, "a", [1], extra=None), chunk(0, "b", [2], "stop")])


def test_log_probabilities_are_joined_as_well() -> None:
    one, two = ({"content": [{"token": token, "logprob": -0.25}]} for token in "ab")
    both = {"content": one["content"] + two["content"]}
    assert folded([chunk(0, "a", [1], logprobs=one), chunk(0, "b", [2], logprobs=two)]) == folded(
        [chunk(0, "ab", [1, 2], logprobs=both)]
    )


@given(st.permutations([0, 0, 0, 1, 1, 1]))
def test_choices_may_interleave_in_any_order(order: list[int]) -> None:
    left = {index: [chunk(index, word, [0]) for word in "abc"] for index in (0, 1)}
    wanted = {index: list(events) for index, events in left.items()}
    body = "\n\n".join([*(left[index].pop(0) for index in order), "data: [DONE]"]) + "\n\n"
    assert by_choice(body) == {**wanted, None: ["data: [DONE]"]}


def test_a_stream_is_known_by_its_first_line() -> None:
    assert is_stream("data: {}\n\n")
    assert is_stream("event: ping\ndata: {}\n\n")
    assert not is_stream('{"data": 1}')
