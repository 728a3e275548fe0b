from itertools import count

from mockvllm.answers.logprobs import Logprobs, TokenLogprob, prompt_logprobs
from mockvllm.answers.tokenizer import WordTokenizer

WORDS = WordTokenizer()
A, B, C, D = WORDS.encode("a b c d")


def alternatives(position: int) -> list[int]:
    return ([A, B, C, D] * 2)[position % 4 : position % 4 + 4]


def logprobs(num: int, token_ids: list[int] | None = None) -> Logprobs:
    return Logprobs(WORDS, alternatives, num, token_ids)


def test_the_sampled_token_comes_first_then_what_could_follow() -> None:
    assert logprobs(3).at(1, B) == [
        TokenLogprob(B, " b", -0.25, 1),
        TokenLogprob(C, " c", -1.5, 2),
        TokenLogprob(D, " d", -2.0, 3),
    ]


def test_a_sampled_token_that_is_no_alternative_displaces_the_last() -> None:
    eos = WORDS.eos_token_id
    assert [entry.token_id for entry in logprobs(3).at(2, eos)] == [eos, C, D]
    assert logprobs(1).at(2, eos) == [TokenLogprob(eos, "<|eot_id|>", -0.25, 1)]


def test_none_are_asked_for_but_the_sampled_one_is_there() -> None:
    assert logprobs(0).at(0, A) == [TokenLogprob(A, "a", -0.25, 1)]


def test_all_are_as_many_as_there_are() -> None:
    assert len(logprobs(-1).at(0, A)) == 4


def test_named_tokens_come_in_their_order() -> None:
    assert logprobs(5, [D, C]).at(0, A)[1:] == [TokenLogprob(D, " d", -1.5, 2), TokenLogprob(C, " c", -2.0, 3)]
    assert [entry.token_id for entry in logprobs(0, [B, A]).at(0, A)] == [A, B]


def test_texts_are_those_of_a_stream() -> None:
    class Bytes(WordTokenizer):
        def detokenizer(self, *, skip_special_tokens: bool):  # type: ignore[no-untyped-def]
            said = count(1)
            return lambda token_id: "🙂" if next(said) == 2 else ""

    stream = Logprobs(Bytes(), alternatives, 1)
    assert [stream.at(position, A)[0].text for position in range(3)] == ["", "🙂", ""]


def test_prompt_tokens_but_the_first_have_the_same_alternatives_everywhere() -> None:
    assert list(prompt_logprobs(WORDS, alternatives, [D, C, A], 2)) == [
        [TokenLogprob(C, " c", -0.5, 1), TokenLogprob(A, "a", -1.5, 2)],
        [TokenLogprob(A, "a", -0.5, 1), TokenLogprob(B, " b", -1.5, 2)],
    ]
    assert [len(entries) for entries in prompt_logprobs(WORDS, alternatives, [D, C], 0)] == [1]
