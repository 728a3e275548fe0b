from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from mockvllm.answers.beam_search import Beam, BeamSearch, Candidate
from mockvllm.answers.directives import Directive
from mockvllm.answers.masks import TokenMask
from mockvllm.answers.script import Script
from mockvllm.answers.speaker import Beams, Speaker, Turn
from mockvllm.answers.tokenizer import WordTokenizer

END = 9
SCORES = st.lists(st.integers(-40, 0).map(lambda quarters: quarters / 4), min_size=1, max_size=5).map(
    lambda found: sorted(found, reverse=True)
)


def search(logprobs: list[float], width: int, max_tokens: int, **options: float) -> list[Beam]:
    candidates = [Candidate(token_id, logprob) for token_id, logprob in enumerate(logprobs)]
    return BeamSearch(candidates, width, max_tokens, 3, **options).best()


def step_by_step(logprobs: list[float], width: int, max_tokens: int) -> list[list[int]]:
    """The textbook: all that could follow, sorted, the first `width` kept."""
    beams: list[tuple[float, list[int]]] = [(0.0, [])]
    for _ in range(max_tokens):
        grown = [(score + logprob, [*said, token]) for score, said in beams for token, logprob in enumerate(logprobs)]
        beams = sorted(grown, key=lambda beam: beam[0], reverse=True)[:width]
    return [said for _, said in beams]


@given(logprobs=SCORES, width=st.integers(1, 6), max_tokens=st.integers(1, 4))
def test_no_beam_is_lost_by_not_growing_what_cannot_be_among_the_best(
    logprobs: list[float], width: int, max_tokens: int
) -> None:
    found = [beam.tokens() for beam in search(logprobs, width, max_tokens)]
    assert found == step_by_step(logprobs, width, max_tokens)


@given(logprobs=SCORES, max_tokens=st.integers(1, 4))
def test_wide_enough_it_finds_every_sequence(logprobs: list[float], max_tokens: int) -> None:
    count = len(logprobs) ** max_tokens
    found = [tuple(beam.tokens()) for beam in search(logprobs, count, max_tokens)]
    assert sorted(found) == list(product(range(len(logprobs)), repeat=max_tokens))


def test_an_end_token_ends_a_beam_and_is_no_part_of_it() -> None:
    candidates = [Candidate(1, -1.0), Candidate(END, -1.5), Candidate(2, -2.0)]
    best = BeamSearch(candidates, 3, 2, 1, end_id=END).best()
    assert [(beam.tokens(), beam.is_ended, beam.logprob) for beam in best] == [
        ([1, 1], False, -2.0),
        ([1, 2], False, -3.0),
        ([2, 1], False, -3.0),
    ]
    alone = BeamSearch([Candidate(END, -0.25)], 2, 5, 1, end_id=END).best()
    assert [(beam.tokens(), beam.is_ended) for beam in alone] == [([], True)]
    assert BeamSearch(candidates, 1, 2, 1).best()[0].tokens() == [1, 1]


def test_a_length_penalty_decides_between_short_and_long() -> None:
    candidates = [Candidate(1, -1.0), Candidate(END, -1.5)]

    def best(length_penalty: float) -> list[int]:
        return BeamSearch(candidates, 1, 4, 1, length_penalty, END).best()[0].tokens()

    assert best(0.0) == []
    assert best(2.0) == [1, 1, 1, 1]


SPEAKER = Speaker(WordTokenizer(), str.encode, "repeat")


def said(turn: Turn, directive: Directive | None = None, **beams: int) -> list[str]:
    wanted = Beams(**{"width": 2, "max_tokens": 3, "num_prompt_tokens": 1, **beams}, length_penalty=1.0)
    return [text(script, wanted.max_tokens) for script in SPEAKER.beams(turn, directive, wanted)]


def text(script: Script, max_tokens: int) -> str:
    script.tokens(0, max_tokens)
    return "".join(script.speech.texts[: script.end or max_tokens])


def test_the_likeliest_token_is_what_would_be_said() -> None:
    assert said(Turn("r")) == ["TuTuTu", "TuTu Tu"]
    assert said(Turn("r"), Directive("say", "hola"), width=1, max_tokens=2) == ["holahola"]


def test_what_a_mask_refuses_is_no_candidate() -> None:
    (tu,) = WordTokenizer().encode("Tu")
    mask = TokenMask(allowed=frozenset((tu,)))
    assert said(Turn("r", mask=mask), width=3, max_tokens=2) == ["TuTu"]
