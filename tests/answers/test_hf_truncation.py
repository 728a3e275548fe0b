"""Prompts cut to a length, and prompts that end within a character."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from recorded_model import unpack_model

from mockvllm.answers.hf_tokenizer import HFTokenizer
from mockvllm.answers.script import Speech
from mockvllm.answers.speaker import Speaker, Turn
from mockvllm.answers.tokenizer import Side, WordTokenizer, cut

BOS = 6000


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> HFTokenizer:
    return HFTokenizer(unpack_model(tmp_path_factory.mktemp("truncation")))


@given(text=st.text(), size=st.integers(0, 12), side=st.sampled_from(["left", "right"]), special=st.booleans())
def test_special_tokens_are_kept_and_the_text_is_cut(
    tokenizer: HFTokenizer, text: str, size: int, side: Side, special: bool
) -> None:
    kept = list(tokenizer.encode_cut(text, size, side, add_special_tokens=special))
    room = max(0, size - special)
    assert kept == [BOS][: size if special else 0] + list(cut(tokenizer.encode(text), room, side))


def test_words_are_cut_likewise() -> None:
    words = WordTokenizer()
    for side, text in (("left", " c d"), ("right", "a b")):
        assert words.encode_cut("a b c d", 2, side) == words.encode(text)  # type: ignore[arg-type]


@given(before=st.text(max_size=6), character=st.sampled_from("ñ日🙂\u0301"), data=st.data())
def test_what_is_left_of_a_character_is_told(
    tokenizer: HFTokenizer, before: str, character: str, data: st.DataObject
) -> None:
    whole = list(tokenizer.encode(before))
    assert list(tokenizer.incomplete(whole)) == []
    pieces = list(tokenizer.encode(before + "," + character))[len(tokenizer.encode(before + ",")) :]
    if pieces:
        begun = pieces[: data.draw(st.integers(0, len(pieces) - 1))]
        assert list(tokenizer.incomplete([*tokenizer.encode(before + ","), *begun])) == begun


def test_what_is_said_next_ends_it(tokenizer: HFTokenizer) -> None:
    *begun, last = tokenizer.encode("🙂")
    speaker = Speaker(tokenizer, str.encode, "repeat")

    def first_texts(before: list[int]) -> list[str]:
        speech: Speech = speaker.script(Turn("r", before=before)).speech
        speech.grow(2)
        return speech.texts[:2]

    assert first_texts([]) == ["Tu", " pedido"]
    assert first_texts(begun) == ["�Tu", " pedido"]
    detokenize = tokenizer.detokenizer(skip_special_tokens=True)
    assert [detokenize(token_id) for token_id in (*begun, last)][-1] == "🙂"
