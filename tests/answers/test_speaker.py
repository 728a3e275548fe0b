import pytest

from mockvllm.answers import tokenizer as module
from mockvllm.answers.directives import Directive
from mockvllm.answers.masks import TokenMask
from mockvllm.answers.script import Script
from mockvllm.answers.speaker import ANSWERS, SENTENCE, Beams, Speaker, Turn
from mockvllm.answers.tokenizer import LOREM, WordTokenizer

TURN = Turn("id", "di esto")


def speaker(answer: str = "sentence", seed: int = 0) -> Speaker:
    return Speaker(WordTokenizer(), str.encode, answer, seed)


def said(script: Script, count: int | None = None) -> str:
    """The text of the first `count` tokens, or of all to the script's own end."""
    count = script.end if count is None else count
    assert count is not None
    assert len(script.tokens(0, count)) == count
    return "".join(script.speech.texts[:count])


def test_the_sentence_ends_on_its_last_word() -> None:
    script = speaker().script(TURN)
    assert script.end == 13
    assert said(script) == SENTENCE


def test_repeat_goes_on_with_a_space_between_rounds() -> None:
    script = speaker("repeat").script(TURN)
    assert script.end is None
    assert said(script, 30) == f"{SENTENCE} {SENTENCE} Tu pedido sale mañana"


def test_eos_adds_the_end_token() -> None:
    script = speaker().script(TURN, Directive("eos"))
    assert script.end is None
    assert script.token(13) == WordTokenizer.eos_token_id
    assert said(script, 16) == f"{SENTENCE} Tu pedido"


def test_special_tokens_are_shown_if_they_are_not_skipped() -> None:
    script = speaker().script(TURN._replace(skip_special_tokens=False), Directive("eos"))
    assert said(script, 15) == f"{SENTENCE}<|eot_id|> Tu"


def test_echo_says_what_the_user_said() -> None:
    script = speaker("echo").script(TURN)
    assert said(script) == "di esto"


def test_lorem_is_the_whole_paragraph() -> None:
    script = speaker("lorem").script(TURN)
    assert said(script) == LOREM


def test_random_depends_on_seed_request_and_choice_alone() -> None:
    texts = [
        said(speaker("random", seed).script(TURN._replace(request_id=request_id), index=index))
        for seed in (0, 1)
        for request_id in ("a", "b")
        for index in (0, 1)
    ]
    assert len(set(texts)) == len(texts)
    assert texts[0] == said(speaker("random").script(Turn("a")))
    assert all(16 <= len(text.split()) <= 128 for text in texts)


def test_with_a_seed_of_its_own_a_request_gives_the_same_words_whatever_its_id() -> None:
    seeded = TURN._replace(seed=7)
    text = said(speaker("random").script(seeded))
    assert text == said(speaker("random", seed=1).script(seeded._replace(request_id="other")))
    others = (seeded._replace(seed=0), seeded._replace(user_text="di otra cosa"), seeded._replace(seed=None))
    texts = {text, said(speaker("random").script(seeded, index=1))}
    texts |= {said(speaker("random").script(other)) for other in others}
    assert len(texts) == 5


@pytest.mark.parametrize("answer", ANSWERS)
def test_who_may_not_stop_goes_on(answer: str) -> None:
    script = speaker(answer).script(TURN._replace(ignore_eos=True))
    assert script.end is None
    assert said(script, 500).startswith(said(speaker(answer).script(TURN), 2))


@pytest.mark.parametrize(("min_tokens", "end"), [(0, 13), (13, 13), (14, 26), (26, 26), (27, 39)])
def test_min_tokens_takes_as_many_rounds_as_it_needs(min_tokens: int, end: int) -> None:
    script = speaker().script(TURN._replace(min_tokens=min_tokens))
    assert script.end == end
    assert said(script) == " ".join([SENTENCE] * (end // 13))


@pytest.mark.parametrize("text", ["", "hola", "una  frase\n\nlarga "])
def test_say_says_the_text_and_the_end_token(text: str) -> None:
    script = speaker().script(TURN, Directive("say", text))
    words = len(WordTokenizer().encode(text))
    assert said(script, words) == text
    assert script.token(words) == WordTokenizer.eos_token_id
    assert script.origin == {"source": "say", "answer": "text"}


def test_a_text_without_an_end_token_ends_by_itself() -> None:
    script = speaker().script(TURN, Directive("mock", "a b c", end_token=False))
    assert script.end == 3
    assert said(script) == "a b c"


def test_an_empty_text_still_has_something_to_end_with() -> None:
    script = speaker().script(TURN, Directive("mock", "", end_token=False))
    assert script.end is None
    assert script.token(0) == WordTokenizer.eos_token_id


def test_a_mask_drops_words_and_the_sentence_still_ends_on_its_last() -> None:
    tokenizer = WordTokenizer()
    mask = TokenMask(forbidden=frozenset(tokenizer.encode(" mañana y")[:1]))
    script = Speaker(tokenizer, str.encode).script(TURN._replace(mask=mask))
    assert said(script) == SENTENCE.replace(" mañana", "")


def test_masked_scripts_are_not_shared() -> None:
    tokenizer = WordTokenizer()
    talker = Speaker(tokenizer, str.encode)
    forced = talker.script(TURN._replace(mask=TokenMask(forced=tokenizer.encode(" hola")[0])))
    assert said(forced, 3) == " hola hola hola"
    assert said(talker.script(TURN)) == SENTENCE


def test_usual_scripts_are_shared_and_named() -> None:
    talker = speaker("repeat")
    assert talker.script(TURN) is talker.script(TURN._replace(request_id="other"))
    assert talker.script(TURN).origin == {"source": "default", "answer": "repeat"}
    assert talker.script(TURN, Directive("eos")).origin == {"source": "eos", "answer": "eos"}


def test_an_unknown_answer_names_the_known_ones() -> None:
    with pytest.raises(ValueError, match="no answer 'parrot': choose from sentence, repeat"):
        speaker("parrot")


def test_alternatives_go_once_around_the_sentence_then_on_to_others() -> None:
    talker = speaker()
    tokenizer = WordTokenizer()
    around = list(talker.alternatives(14))
    assert around[:13] == [*tokenizer.encode(" " + SENTENCE)[1:], *tokenizer.encode(" Tu")]
    assert len(around) > 40


FLOOD = " ".join(map(str, range(50)))


@pytest.mark.parametrize("answer", ANSWERS)
@pytest.mark.parametrize("directive", [None, Directive("eos"), Directive("say", "hola " * 40 + "x" * 99)])
@pytest.mark.parametrize("forbidden", [None, -1])
def test_an_answer_s_words_outlive_any_prompt(
    answer: str, directive: Directive | None, forbidden: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    mask = None if forbidden is None else TokenMask(forbidden=frozenset((forbidden,)))
    turn = TURN._replace(user_text="di " * 30 + "esto", mask=mask)
    wanted = said(speaker(answer).script(turn, directive), 200)
    monkeypatch.setattr(module, "_GENERATION_WORDS", 4)
    monkeypatch.setattr(module, "_LONGEST_REMEMBERED", 20)
    tokenizer = WordTokenizer()
    talker = Speaker(tokenizer, str.encode, answer)
    tokenizer.encode(FLOOD)
    script = talker.script(turn, directive)
    for index in range(200):
        tokenizer.encode(f"{FLOOD} {index}")
        token = script.token(index)
        assert tokenizer.token_text(token) == (script.speech.texts[index] or "<|eot_id|>")
    assert said(script, 200) == wanted


def test_a_beam_s_words_outlive_any_prompt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_GENERATION_WORDS", 4)
    tokenizer = WordTokenizer()
    talker = Speaker(tokenizer, str.encode)
    beams = talker.beams(TURN, Directive("say", "hola"), Beams(2, 3, 1, 1.0))
    tokenizer.encode(FLOOD)
    assert [said(beam, 3) for beam in beams] == ["holaholahola", "holahola Tu"]
