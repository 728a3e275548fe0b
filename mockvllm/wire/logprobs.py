"""Log-probabilities of tokens, as every endpoint shows them."""

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

LOWEST = -9999.0
"""What stands for minus infinity, which JSON has not."""


class TokenLogprob(Protocol):
    @property
    def token_id(self) -> int: ...
    @property
    def text(self) -> str: ...
    @property
    def logprob(self) -> float: ...
    @property
    def rank(self) -> int: ...


class Logprobs(Protocol):
    """One choice's: the sampled token of a position, then the others that are shown. Asked for in order."""

    def at(self, position: int, token_id: int, /) -> Sequence[TokenLogprob]: ...


def prompt_logprobs(positions: Iterable[Sequence[TokenLogprob]]) -> list[dict[str, Any] | None]:
    """A map of candidates by id for each prompt token, None for the first, which nothing predicts."""
    return [None, *({str(c.token_id): _prompt_entry(c) for c in candidates} for candidates in positions)]


def _prompt_entry(candidate: TokenLogprob) -> dict[str, Any]:
    return {"logprob": max(candidate.logprob, LOWEST), "rank": candidate.rank, "decoded_token": candidate.text}
