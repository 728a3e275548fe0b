"""When a request ends: vLLM's order of conditions, and a look ahead that never overlooks one."""

import random
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from workloads import EOS, Words, linear, play_steps, request

from mockvllm.engine import EngineCore, RepetitionDetection, Request
from mockvllm.engine.stop import check_stop, repeats

STOP = 3
Ending = tuple[int, str | None, int | str | None]


def run(r: Request, max_model_len: int = 1000) -> Ending:
    """On a real engine: (tokens said, finish reason, stop reason)."""
    engine = linear(async_scheduling=False, max_model_len=max_model_len)
    engine.add(r, 0.0)
    for _ in play_steps(EngineCore(engine)):
        pass
    return r.num_output_tokens, r.finish_reason, r.stop_reason


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"max_tokens": 7}, (7, "length", None)),
        ({"max_tokens": 999}, (80, "length", None)),  # max_model_len 100
        ({"outputs": Words({3: EOS}), "eos_token_id": EOS}, (4, "stop", None)),
        ({"outputs": Words({6: EOS}), "eos_token_id": EOS, "max_tokens": 7}, (7, "stop", None)),
        ({"outputs": Words({3: EOS}), "eos_token_id": EOS, "min_tokens": 6}, (4, "stop", None)),
        ({"outputs": Words({3: EOS}), "eos_token_id": EOS, "ignore_eos": True, "max_tokens": 7}, (7, "length", None)),
        ({"outputs": Words({3: STOP}), "stop_token_ids": [9, STOP]}, (4, "stop", STOP)),
        ({"outputs": Words({3: EOS}), "eos_token_id": EOS, "stop_token_ids": [EOS]}, (4, "stop", None)),
        (
            {"outputs": Words({3: EOS}), "eos_token_id": EOS, "ignore_eos": True, "stop_token_ids": [EOS]},
            (4, "stop", EOS),
        ),
        ({"outputs": Words(end=5)}, (5, "stop", None)),
        ({"outputs": Words(end=5), "max_tokens": 5}, (5, "stop", None)),
        ({"outputs": Words(end=5), "max_tokens": 4}, (4, "length", None)),
        ({"outputs": Words(end=5), "ignore_eos": True}, (5, "stop", None)),
        ({"outputs": Words({79: STOP}), "stop_token_ids": [STOP], "max_tokens": 999}, (80, "stop", STOP)),
    ],
)
def test_conditions_and_their_order(options: dict[str, object], expected: Ending) -> None:
    assert run(request("a", prompt=20, **({"max_tokens": 50} | options)), max_model_len=100) == expected


class Cycle:
    """Says `lead`, then `pattern` over and over."""

    end = None

    def __init__(self, lead: list[int], pattern: list[int]) -> None:
        self.said = lead + pattern * 200

    def token(self, index: int) -> int:
        return self.said[index]

    def tokens(self, start: int, stop: int) -> Sequence[int]:
        return self.said[start:stop]


@pytest.mark.parametrize(
    ("rule", "min_tokens", "pattern", "expected"),
    [
        (RepetitionDetection(4, 0, 3), 0, [5], 5 + 3),
        (RepetitionDetection(4, 2, 3), 0, [5], 5 + 6),
        (RepetitionDetection(4, 0, 3), 0, [5, 6, 7], 5 + 9),
        (RepetitionDetection(2, 0, 3), 0, [5, 6, 7], 100),
        (RepetitionDetection(4, 0, 3), 40, [5, 6], 40),
        (RepetitionDetection(4, 0, 2), 0, [5, 6, 7, 8], 5 + 8),
    ],
)
def test_repetition(rule: RepetitionDetection, min_tokens: int, pattern: list[int], expected: int) -> None:
    outputs = Cycle([10, 11, 12, 13, 14], pattern)
    r = request("a", max_tokens=100, outputs=outputs, repetition_detection=rule, min_tokens=min_tokens)
    ending = ("repetition", "repetition_detected") if expected < 100 else ("length", None)
    assert run(r) == (expected, *ending)


@given(st.lists(st.integers(0, 2), max_size=14), st.integers(1, 4), st.integers(0, 3), st.integers(2, 4))
def test_repeats_is_what_it_says(tokens: list[int], largest: int, smallest: int, copies: int) -> None:
    rule = RepetitionDetection(largest, smallest, copies)
    expected = any(
        tokens[-size * copies :] == tokens[-size:] * copies
        for size in range(max(1, smallest), largest + 1)
        if len(tokens) >= size * copies
    )
    assert repeats(tokens, rule) == expected


class Reads(list[int]):
    """How many tokens are read, one by one or as a slice."""

    count = 0

    def __getitem__(self, key: Any) -> Any:
        value = super().__getitem__(key)
        self.count += len(value) if isinstance(key, slice) else 1
        return value


@pytest.mark.parametrize(("largest", "copies", "sizes"), [(4096, 2, 4096), (10**15, 2, 4096), (10**15, 2000, 4)])
def test_patterns_longer_than_what_was_said_are_not_looked_for(largest: int, copies: int, sizes: int) -> None:
    said = Reads(range(8192))
    assert not repeats(said, RepetitionDetection(largest, 1, copies))
    assert said.count == 2 * sizes


@pytest.mark.parametrize("off", [1, 17, 3000, 4095, 4096])
def test_long_patterns_are_compared_to_their_last_token(off: int) -> None:
    said = 2 * random.Random(1).choices(range(9), k=4096)
    assert repeats(said, RepetitionDetection(4096, 2000, 2))
    said[-off] += 200
    assert not repeats(said, RepetitionDetection(4096, 2000, 2))


class Fixed:
    def __init__(self, said: list[int], end: int | None) -> None:
        self.said, self.end = said, end

    def token(self, index: int) -> int:
        return self.said[index]

    def tokens(self, start: int, stop: int) -> Sequence[int]:
        assert stop <= len(self.said)
        return self.said[start:stop]


@given(
    said=st.lists(st.integers(2, 9), min_size=1, max_size=300),
    rare=st.integers(0, 400),
    ids=st.tuples(st.none() | st.integers(2, 9), st.lists(st.integers(2, 9), max_size=2), st.booleans()),
    end=st.none() | st.integers(1, 300),
    rule=st.none() | st.builds(RepetitionDetection, st.integers(1, 3), st.integers(0, 2), st.integers(3, 5)),
    min_tokens=st.integers(0, 50),
)
def test_looking_ahead_finds_what_asking_after_every_token_finds(
    said: list[int],
    rare: int,
    ids: tuple[int | None, list[int], bool],
    end: int | None,
    rule: RepetitionDetection | None,
    min_tokens: int,
) -> None:
    """`rare`: up to there the tokens are ones that no condition knows, so that the end lies beyond one look ahead."""
    said = [100 + i for i in range(rare)] + said
    eos, stop_ids, ignore_eos = ids
    r = request("a", prompt=4, max_tokens=len(said), outputs=Fixed(said, end), min_tokens=min_tokens)
    r.eos_token_id, r.stop_token_ids, r.ignore_eos, r.repetition_detection = eos, stop_ids, ignore_eos, rule

    def naive(count: int) -> Ending | None:
        token = said[count - 1]
        if token == eos and not ignore_eos:
            return count, "stop", None
        if token in stop_ids:
            return count, "stop", token
        if count == end:
            return count, "stop", None
        if count == len(said):
            return count, "length", None
        if rule is not None and count >= min_tokens and repeats(said[:count], rule):
            return count, "repetition", "repetition_detected"
        return None

    expected = next(filter(None, map(naive, range(1, len(said) + 1))))
    check_stop(r, max_model_len=10_000)
    while r.finish_reason is None:
        assert r.check_at > r.num_tokens
        r.num_tokens = r.check_at
        check_stop(r, max_model_len=10_000)
    assert (r.num_output_tokens, r.finish_reason, r.stop_reason) == expected
