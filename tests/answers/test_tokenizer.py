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


def test_too_many_words_start_anew_and_keep_their_ids(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_REMEMBERED_WORDS", 4)
    tokenizer = WordTokenizer()
    first = tokenizer.encode("a b c d e f g h")
    assert tokenizer.decode(first) == " e f g h"
    assert WordTokenizer().encode("a b c d e f g h") == first


def test_an_unknown_id_has_no_text_and_special_tokens_can_be_shown() -> None:
    tokenizer = WordTokenizer()
    assert tokenizer.decode([123456, tokenizer.eos_token_id]) == "<|eot_id|>"
    assert tokenizer.decode([123456, tokenizer.eos_token_id], skip_special_tokens=True) == ""
