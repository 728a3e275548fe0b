"""Log-probabilities of what was said. There is no model: the values are fixed, the alternatives are what comes next."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from mockvllm.answers.beam_search import Candidate
from mockvllm.answers.tokenizer import Tokenizer

SAMPLED = -0.25
FIRST_ALTERNATIVE = -1.5
STEP = -0.5
PROMPT = -0.5


class TokenLogprob(NamedTuple):
    """One token at one position. `rank`: 1 is the likeliest."""

    token_id: int
    text: str
    logprob: float
    rank: int


Alternatives = Callable[[int], Iterable[int]]
"""The tokens that could stand at a position, best first."""


class Logprobs:
    """The log-probabilities of one choice's tokens, asked for in order.

    `num`: how many tokens a position shows, the sampled one included (-1: all); `token_ids`: those to show instead.
    """

    def __init__(
        self, tokenizer: Tokenizer, alternatives: Alternatives, num: int, token_ids: Sequence[int] | None = None
    ) -> None:
        self._tokenizer = tokenizer
        self._alternatives = alternatives
        self._num = tokenizer.vocab_size if num == -1 else num
        self._token_ids = token_ids
        self._text = tokenizer.detokenizer(skip_special_tokens=False)

    def at(self, position: int, token_id: int) -> list[TokenLogprob]:
        """The sampled token, then its alternatives."""
        sampled = TokenLogprob(token_id, self._text(token_id), SAMPLED, 1)
        others: Iterable[int] | None = self._token_ids
        if others is None:
            others = islice(_without(token_id, self._alternatives(position)), max(0, self._num - 1))
        shown = {entry.token_id: entry for entry in (sampled, *_ranked(self._tokenizer, others))}
        return list(shown.values())


def prompt_logprobs(
    tokenizer: Tokenizer, alternatives: Alternatives, token_ids: Sequence[int], num: int
) -> Iterator[list[TokenLogprob]]:
    """For each prompt token but the first: itself, then `num` - 1 alternatives, the same everywhere."""
    text = tokenizer.detokenizer(skip_special_tokens=False)
    text(token_ids[0])
    for token_id in token_ids[1:]:
        others = islice(_without(token_id, alternatives(0)), max(0, num - 1))
        yield [TokenLogprob(token_id, text(token_id), PROMPT, 1), *_ranked(tokenizer, others)]


def ranked_candidates(likeliest: int, others: Iterable[int]) -> list[Candidate]:
    """The likeliest token and what could stand in its place, best first."""
    return [
        Candidate(likeliest, SAMPLED),
        *(Candidate(other, FIRST_ALTERNATIVE + STEP * place) for place, other in enumerate(others)),
    ]


def _ranked(tokenizer: Tokenizer, token_ids: Iterable[int]) -> Iterator[TokenLogprob]:
    for place, token_id in enumerate(token_ids):
        yield TokenLogprob(token_id, tokenizer.token_text(token_id), FIRST_ALTERNATIVE + STEP * place, place + 2)


def _without(token_id: int, token_ids: Iterable[int]) -> Iterator[int]:
    return (other for other in token_ids if other != token_id)
