"""What sampling parameters forbid or force, applied to a script as a logits processor would: position by position."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from mockvllm.answers.tokenizer import Tokenizer

FORCING_BIAS = 50.0
"""A logit bias of this much forces its token, of minus this much forbids it; anything between changes nothing."""

Candidates = Callable[[int], Iterable[int]]
"""The tokens to try, best first, at a position where the scripted one is refused."""


@dataclass(frozen=True, slots=True)
class TokenMask:
    """`min_tokens`: until so many tokens are said, none of `end_ids` may be."""

    allowed: frozenset[int] | None = None
    forced: int | None = None
    forbidden: frozenset[int] = frozenset()
    bad_words: Sequence[Sequence[int]] = ()
    min_tokens: int = 0
    end_ids: frozenset[int] = frozenset()

    @property
    def is_empty(self) -> bool:
        return (
            self.allowed is None and self.forced is None and not (self.forbidden or self.bad_words or self.min_tokens)
        )

    def permits(self, token_id: int, said: Sequence[int]) -> bool:
        if self.forced is not None:
            return token_id == self.forced
        if self.allowed is not None and token_id not in self.allowed:
            return False
        if token_id in self.forbidden or (len(said) < self.min_tokens and token_id in self.end_ids):
            return False
        return not any(
            word[-1] == token_id and list(said[len(said) - len(word) + 1 :]) == list(word[:-1])
            for word in self.bad_words
        )

    def apply(self, tokens: Iterable[int], candidates: Candidates) -> Iterator[int]:
        """`tokens`, a refused one replaced by the first candidate that is permitted, else by the lowest id that is."""
        said: list[int] = []
        for token_id in tokens:
            if not self.permits(token_id, said):
                token_id = next(
                    (other for other in self._others(candidates, len(said)) if self.permits(other, said)), token_id
                )
            said.append(token_id)
            yield token_id

    def _others(self, candidates: Candidates, position: int) -> Iterator[int]:
        if self.forced is not None:
            yield self.forced
        elif self.allowed is not None:
            yield from (other for other in candidates(position) if other in self.allowed)
            yield from sorted(self.allowed)
        else:
            yield from candidates(position)


def split_logit_bias(logit_bias: dict[int, float]) -> tuple[int | None, frozenset[int]]:
    """(forced token, forbidden tokens). Of several forced tokens the strongest wins, then the lowest id."""
    forcing = [(-bias, token_id) for token_id, bias in logit_bias.items() if bias >= FORCING_BIAS]
    return min(forcing)[1] if forcing else None, frozenset(i for i, bias in logit_bias.items() if bias <= -FORCING_BIAS)


def bad_word_tokens(words: Iterable[str], tokenizer: Tokenizer) -> list[list[int]]:
    """The token sequences of `bad_words`: each word as it is, and after a space if that gives other tokens, as many."""
    sequences: list[list[int]] = []
    for word in words:
        plain = tokenizer.encode(word.lstrip())
        spaced = tokenizer.encode(" " + word.lstrip())
        sequences.append(plain)
        if len(spaced) == len(plain) and spaced[0] != plain[0]:
            sequences.append(spaced)
    return [sequence for sequence in sequences if sequence]
