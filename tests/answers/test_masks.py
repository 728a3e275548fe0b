from itertools import cycle, islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockvllm.answers.masks import TokenMask, bad_word_tokens, split_logit_bias
from mockvllm.answers.tokenizer import WordTokenizer


def masked(mask: TokenMask, tokens: list[int], count: int) -> list[int]:
    """The first `count` tokens of a script that says `tokens` over and over."""
    return list(islice(mask.apply(cycle(tokens), []), count))


@pytest.mark.parametrize(
    ("mask", "said"),
    [
        (TokenMask(), [1, 2, 3, 1, 2]),
        (TokenMask(forbidden=frozenset([2])), [1, 3, 1, 3, 1]),
        (TokenMask(allowed=frozenset([3, 9])), [3, 3, 3, 3, 3]),
        (TokenMask(allowed=frozenset([9, 8])), [8, 8, 8, 8, 8]),
        (TokenMask(allowed=frozenset([9, 8]), forbidden=frozenset([8])), [9, 9, 9, 9, 9]),
        (TokenMask(forced=7), [7, 7, 7, 7, 7]),
        (TokenMask(bad_words=[[3]]), [1, 2, 1, 2, 1]),
        (TokenMask(bad_words=[[2, 3]]), [1, 2, 1, 2, 1]),
        (TokenMask(bad_words=[[1, 2, 3]]), [1, 2, 1, 2, 1]),
        (TokenMask(bad_words=[[2, 2]]), [1, 2, 3, 1, 2]),
        (TokenMask(min_tokens=3, end_ids=frozenset([2])), [1, 3, 1, 2, 3]),
        (TokenMask(forbidden=frozenset([1, 2, 3]), fillers=(1, 5, 6)), [5, 5, 5, 5, 5]),
    ],
)
def test_refused_tokens_are_left_out(mask: TokenMask, said: list[int]) -> None:
    assert masked(mask, [1, 2, 3], 5) == said


@given(
    st.lists(st.integers(1, 6), min_size=1, max_size=6),
    st.frozensets(st.integers(1, 6), max_size=5),
    st.one_of(st.none(), st.frozensets(st.integers(1, 9), min_size=1)),
    st.integers(0, 6),
)
def test_nothing_refused_is_ever_said(
    tokens: list[int], forbidden: frozenset[int], allowed: frozenset[int] | None, min_tokens: int
) -> None:
    mask = TokenMask(allowed, None, forbidden, (), min_tokens, frozenset([1]), range(10, 20))
    permitted = (allowed or frozenset(range(1, 20))) - forbidden
    said = masked(mask, tokens, 12)
    if permitted - {1}:
        assert set(said) <= permitted
        assert 1 not in said[:min_tokens]


def test_a_finite_script_that_is_refused_altogether_says_nothing() -> None:
    assert list(TokenMask(allowed=frozenset([9])).apply([1, 2, 3], [])) == []


@pytest.mark.parametrize(
    ("bias", "forced", "forbidden"),
    [
        ({}, None, set()),
        ({"5": 49.9, "6": -49.9}, None, set()),
        ({"5": 50, "6": -50}, 5, {6}),
        ({"5": 60, "6": 100, "7": 100}, 6, set()),
        ({"5": -100, "6": -1000}, None, {5, 6}),
    ],
)
def test_a_strong_bias_forces_or_forbids(bias: dict[str, float], forced: int | None, forbidden: set[int]) -> None:
    assert split_logit_bias(bias) == (forced, forbidden)


def test_a_bad_word_is_bad_behind_a_space_too() -> None:
    tokenizer = WordTokenizer()
    assert list(bad_word_tokens(["hola", " dos palabras"], tokenizer)) == [
        tokenizer.encode("hola"),
        tokenizer.encode(" hola"),
        tokenizer.encode("dos palabras"),
        tokenizer.encode(" dos palabras"),
    ]
