"""Log-probabilities as /v1/chat/completions shows them."""

from collections.abc import Sequence
from typing import Any

from mockvllm.wire.encoder import Delta
from mockvllm.wire.logprobs import LOWEST, Logprobs, TokenLogprob


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
