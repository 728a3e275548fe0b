"""Log-probabilities as /v1/chat/completions shows them."""

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from mockvllm.wire.encoder import Delta

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


class ChatLogprobs:
    """`top`: how many candidates an entry lists (-1: all); `as_token_ids`: tokens are shown as `token_id:<id>`."""

    def __init__(self, choices: Sequence[Logprobs], top: int, *, as_token_ids: bool) -> None:
        self._choices = choices
        self._top = None if top == -1 else top
        self._as_token_ids = as_token_ids

    def __call__(self, index: int, delta: Delta) -> list[dict[str, Any]]:
        """The entries of the delta's tokens."""
        at = self._choices[index].at
        return [self._entry(at(delta.start + i, token_id)) for i, token_id in enumerate(delta.token_ids)]

    def _entry(self, candidates: Sequence[TokenLogprob]) -> dict[str, Any]:
        sampled = candidates[0]
        return {
            "token": self._token(sampled),
            "logprob": max(sampled.logprob, LOWEST),
            "bytes": list(sampled.text.encode()),
            "top_logprobs": [self._top_entry(candidate) for candidate in candidates[: self._top]],
        }

    def _top_entry(self, candidate: TokenLogprob) -> dict[str, Any]:
        token = self._token(candidate)
        return {"token": token, "logprob": max(candidate.logprob, LOWEST), "bytes": list(token.encode())}

    def _token(self, candidate: TokenLogprob) -> str:
        return f"token_id:{candidate.token_id}" if self._as_token_ids else candidate.text


def prompt_logprobs(positions: Iterable[Sequence[TokenLogprob]]) -> list[dict[str, Any] | None]:
    """A map of candidates by id for each prompt token, None for the first, which nothing predicts."""
    return [None, *({str(c.token_id): _prompt_entry(c) for c in candidates} for candidates in positions)]


def _prompt_entry(candidate: TokenLogprob) -> dict[str, Any]:
    return {"logprob": max(candidate.logprob, LOWEST), "rank": candidate.rank, "decoded_token": candidate.text}
