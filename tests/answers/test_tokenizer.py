import ast
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockvllm.answers import tokenizer as module
from mockvllm.answers.tokenizer import WordTokenizer


@given(st.text())
def test_any_text_survives(text: str) -> None:
    tokenizer = WordTokenizer()
    assert tokenizer.decode(tokenizer.encode(text)) == text


@given(st.text())
def test_a_token_is_a_word(text: str) -> None:
    assert len(WordTokenizer().encode(text)) == max(len(text.split()), bool(text))


@given(st.text(min_size=1), st.integers(1, 20))
def test_a_limit_cuts_behind_the_first_tokens(text: str, limit: int) -> None:
    tokenizer = WordTokenizer()
    assert tokenizer.encode(text, limit=limit) == tokenizer.encode(text)[:limit]


def test_a_limit_also_holds_for_a_long_text() -> None:
    tokenizer = WordTokenizer()
    text = "una palabra " * 50_000
    assert tokenizer.encode(text, limit=7) == tokenizer.encode("una palabra una palabra una palabra una")
    assert len(tokenizer.encode(text)) == 100_000


def test_ids_are_the_same_in_every_run() -> None:
    text = "hola mundo\nqué tal"
    code = f"from mockvllm.answers.tokenizer import WordTokenizer as W; print(W().encode({text!r}))"
    runs = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout for _ in range(2)]
    assert [ast.literal_eval(run) for run in runs] == [WordTokenizer().encode(text)] * 2


@given(st.text())
def test_no_word_has_the_id_of_a_special_token(text: str) -> None:
    tokenizer = WordTokenizer()
    assert tokenizer.eos_token_id not in tokenizer.encode(text)
    assert all(16 <= token_id < tokenizer.vocab_size for token_id in tokenizer.encode(text))


def test_words_that_share_a_checksum_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "crc32", lambda data: 5)
    tokenizer = WordTokenizer()
    ids = tokenizer.encode("uno dos tres uno")
    assert len(set(ids)) == 4
    assert tokenizer.decode(ids) == "uno dos tres uno"


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> WordTokenizer:
    """It remembers 2 x 4 words."""
    monkeypatch.setattr(module, "_GENERATION_WORDS", 4)
    return WordTokenizer()


def test_words_not_met_for_long_are_forgotten_and_keep_their_ids(small: WordTokenizer) -> None:
    first = small.encode("a b c d e f g h")
    assert small.decode(first) == "a b c d e f g h"
    small.encode(" i j k l")
    assert small.decode(first) == " e f g h"
    assert small.encode("a b c d e f g h") == first
    assert small.decode(first) == "a b c d e f g h"


@given(st.lists(st.integers(0, 40)), st.integers(1, 6))
def test_what_is_remembered_is_bounded_and_the_last_words_are_among_it(words: list[int], size: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_GENERATION_WORDS", size)
        tokenizer = WordTokenizer()
        ids = [tokenizer.encode(f" {word}")[0] for word in words]
    known = {token_id for token_id in ids if tokenizer.decode([token_id])}
    assert known >= set(ids[-size:])
    assert len(known) <= 2 * size


@pytest.mark.parametrize("text", ["uno dos", "ñ", "a b c d e f g h i j k l uno"])
def test_kept_words_have_their_text_as_long_as_their_keeper_lives(small: WordTokenizer, text: str) -> None:
    flood = " ".join(map(str, range(100)))
    small.encode(text)
    ids, keeper = small.encode_kept(text)
    small.encode(flood)
    assert small.decode(ids) == text
    assert small.encode(text) == ids
    del keeper
    small.encode(flood + " .")
    assert small.decode(ids) == ""


def test_cached_ids_have_texts(small: WordTokenizer) -> None:
    text = "uno dos tres"
    for number in range(50):
        assert small.decode(small.encode(text)) == text
        small.encode(f" {number}")


def test_very_long_words_are_not_remembered_but_displace_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_LONGEST_REMEMBERED", 10)
    monkeypatch.setattr(module, "_GENERATION_CHARS", 20)
    tokenizer = WordTokenizer()
    short = tokenizer.encode("uno dos")
    (long,) = tokenizer.encode("x" * 11)
    assert [tokenizer.encode(f"{size}" * 11) for size in range(9)]
    assert tokenizer.decode([*short, long]) == "uno dos"
    ids, keeper = tokenizer.encode_kept("x" * 11)
    assert (ids, tokenizer.decode(ids), bool(keeper)) == ([long], "x" * 11, True)


def test_a_kept_word_shares_its_id_with_no_other(monkeypatch: pytest.MonkeyPatch, small: WordTokenizer) -> None:
    monkeypatch.setattr(module, "crc32", lambda data: 5)
    (kept,), keeper = small.encode_kept("uno")
    ids = small.encode("a b c d e f g h i j k l")
    assert kept not in ids
    assert (small.decode([kept]), bool(keeper)) == ("uno", True)


def test_fillers_always_have_texts(small: WordTokenizer) -> None:
    small.encode(" ".join(map(str, range(100))))
    assert small.decode(list(small.fillers())) == " " + module.LOREM


def test_an_unknown_id_has_no_text_and_special_tokens_can_be_shown() -> None:
    tokenizer = WordTokenizer()
    assert tokenizer.decode([123456, tokenizer.eos_token_id]) == "<|eot_id|>"
    assert tokenizer.decode([123456, tokenizer.eos_token_id], skip_special_tokens=True) == ""
