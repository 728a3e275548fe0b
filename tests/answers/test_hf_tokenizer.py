from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from recorded_model import unpack_model

from mockvllm.answers.hf_tokenizer import HFTokenizer

SENTENCE = "Tu pedido sale mañana y llega en dos o tres días hábiles ."


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> HFTokenizer:
    return HFTokenizer(unpack_model(tmp_path_factory.mktemp("tokenizer")))


def test_what_the_directory_says(tokenizer: HFTokenizer) -> None:
    assert tokenizer.vocab_size == 6016
    assert tokenizer.max_chars_per_token == 73
    assert tokenizer.eos_token_id == 6006
    assert tokenizer.extra_end_ids == [6001, 6005]
    assert tokenizer.special_tokens["bos_token"] == "<|begin_of_text|>"


def test_ids_are_the_recorded_ones(tokenizer: HFTokenizer) -> None:
    assert tokenizer.encode(SENTENCE)[:3] == [1806, 757, 1273]
    assert tokenizer.encode("hola", add_special_tokens=True)[0] == 6000
    assert tokenizer.encode(SENTENCE, limit=2) == [1806, 757]


@given(text=st.text())
def test_any_text_survives_token_by_token(tokenizer: HFTokenizer, text: str) -> None:
    detokenize = tokenizer.detokenizer(skip_special_tokens=False)
    assert "".join(map(detokenize, tokenizer.encode(text))) == text


def test_bytes_of_a_character_have_no_text_until_it_is_complete(tokenizer: HFTokenizer) -> None:
    detokenize = tokenizer.detokenizer(skip_special_tokens=True)
    assert [detokenize(token_id) for token_id in tokenizer.encode("a🙂b")] == ["a", "", "", "", "🙂", "b"]


def test_special_tokens_are_skipped_or_shown(tokenizer: HFTokenizer) -> None:
    ids = [*tokenizer.encode("hola"), tokenizer.eos_token_id]
    assert tokenizer.decode(ids, skip_special_tokens=True) == "hola"
    assert tokenizer.decode(ids) == "hola<|eot_id|>"
    assert tokenizer.detokenizer(skip_special_tokens=True)(6006) == ""
    assert tokenizer.token_text(6006) == "<|eot_id|>"


def test_half_a_character_alone_has_no_text(tokenizer: HFTokenizer) -> None:
    assert tokenizer.token_text(tokenizer.encode("🙂")[0]) == ""


@given(text=st.text("ab .,ñ*\n", min_size=60), limit=st.integers(1, 6))
def test_a_limit_cuts_behind_the_first_tokens(tokenizer: HFTokenizer, text: str, limit: int) -> None:
    assert tokenizer.encode(text, limit=limit) == tokenizer.encode(text)[:limit]


def test_of_a_long_text_only_the_beginning_is_read(tokenizer: HFTokenizer, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    encode = tokenizer._tokenizer.encode

    class Counting:
        def encode(self, text: str, **options: bool) -> object:
            read.append(len(text))
            return encode(text, **options)

    monkeypatch.setattr(tokenizer, "_tokenizer", Counting())
    assert len(tokenizer.encode("hola mundo " * 50_000, limit=100)) == 100
    assert max(read) <= 800


def test_a_directory_without_a_tokenizer_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=f"no tokenizer.json in {tmp_path}"):
        HFTokenizer(tmp_path)


def test_end_tokens_fall_back_to_the_model_config(tmp_path: Path) -> None:
    (unpack_model(tmp_path) / "generation_config.json").unlink()
    (tmp_path / "config.json").write_text('{"eos_token_id": [6006, 6010], "vocab_size": 7000}')
    tokenizer = HFTokenizer(tmp_path)
    assert (tokenizer.eos_token_id, tokenizer.extra_end_ids, tokenizer.vocab_size) == (6006, [6010], 7000)


@pytest.mark.parametrize("unknown", [6016, 2**32 - 1, 2**32, 2**70])
def test_what_nobody_knows_has_no_text(tokenizer: HFTokenizer, unknown: int) -> None:
    ids = tokenizer.encode("hola")
    assert tokenizer.decode([*ids, unknown, *ids]) == "holahola"
    assert not tokenizer.incomplete([*ids, unknown])
