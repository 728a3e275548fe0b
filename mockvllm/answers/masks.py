"""What sampling parameters forbid or force, applied to the tokens of a script as a logits processor would."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from mockvllm.answers.tokenizer import Tokenizer

FORCING_BIAS = 50.0
"""A logit bias of this much forces its token, of minus this much forbids it; anything between changes nothing."""

_PATIENCE = 32  # refused tokens in a row (more than a round of the sentence) before something else is said


@dataclass(frozen=True, slots=True)
class TokenMask:
    """`min_tokens`: until so many tokens are said, none of `end_ids` may be. `fillers`: said if all else is refused."""

    allowed: frozenset[int] | None = None
    forced: int | None = None
    forbidden: frozenset[int] = frozenset()
    bad_words: Sequence[Sequence[int]] = ()
    min_tokens: int = 0
    end_ids: frozenset[int] = frozenset()
    fillers: Iterable[int] = ()

    def permits(self, token_id: int, said: Sequence[int]) -> bool:
        if self.forced is not None:
            return token_id == self.forced
        if self.allowed is not None and token_id not in self.allowed:
            return False
        if token_id in self.forbidden or (len(said) < self.min_tokens and token_id in self.end_ids):
            return False
        return not any(_completes(word, said, token_id) for word in self.bad_words)

    def apply(self, tokens: Iterable[int], said: list[int]) -> Iterator[int]:
        """`tokens` without those that are refused behind `said`, which grows with them.

        If too many are refused in a row, the lowest permitted id takes their place, unless `tokens` end.
        """
        refused = 0
        for token_id in tokens:
            if not self.permits(token_id, said):
                refused += 1
                if refused < _PATIENCE and self.forced is None:
                    continue
                token_id = self._instead_of(token_id, said)
            refused = 0
            said.append(token_id)
            yield token_id

    def _instead_of(self, token_id: int, said: Sequence[int]) -> int:
        if self.forced is not None:
            return self.forced
        others = self.fillers if self.allowed is None else sorted(self.allowed)
        return next((other for other in others if self.permits(other, said)), token_id)


def _completes(word: Sequence[int], said: Sequence[int], token_id: int) -> bool:
    before = word[:-1]
    return word[-1] == token_id and (not before or list(said[-len(before) :]) == list(before))


def split_logit_bias(logit_bias: Mapping[str, float]) -> tuple[int | None, frozenset[int]]:
    """(forced token, forbidden tokens). Of several forced tokens the strongest wins, then the lowest id."""
    forcing = [(-bias, int(token_id)) for token_id, bias in logit_bias.items() if bias >= FORCING_BIAS]
    forbidden = frozenset(int(token_id) for token_id, bias in logit_bias.items() if bias <= -FORCING_BIAS)
    return min(forcing)[1] if forcing else None, forbidden


def bad_word_tokens(words: Iterable[str], tokenizer: Tokenizer) -> Iterator[Sequence[int]]:
    """The token sequences of `bad_words`: each word as it is, and after a space if that gives other tokens, as many."""
    for word in words:
        plain = tokenizer.encode(word.lstrip())
        yield plain
        spaced = tokenizer.encode(" " + word.lstrip())
        if len(spaced) == len(plain) and spaced[:1] != plain[:1]:
            yield spaced
