"""Log-probabilities as /v1/completions shows them: parallel lists, with the place of each token in the text."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from mockvllm.wire.encoder import Delta
from mockvllm.wire.logprobs import LOWEST, Logprobs, TokenLogprob


class EchoedPrompt(NamedTuple):
    """`text`: the echo; `first`: its first token, which nothing predicts (id, text); `others`: those behind it."""

    text: str
    first: tuple[int, str]
    others: Sequence[Sequence[TokenLogprob]]


class CompletionLogprobs:
    """`prompts`: those of each choice, if they are echoed. `top`: how many candidates are listed besides the sampled
    token (None: all that there are).

    `as_token_ids`: tokens are shown as `token_id:<id>`. `continues`: an event's first offset goes on from the last
    event's tokens (vLLM 0.32 and later), else it is the length of the text sent before it.
    """

    def __init__(
        self,
        choices: Sequence[Logprobs],
        prompts: Sequence[EchoedPrompt | None],
        top: int | None,
        *,
        as_token_ids: bool,
        continues: bool,
    ) -> None:
        self._choices = choices
        self._prompts = prompts
        self._num_listed = None if top is None else top + 1
        self._as_token_ids = as_token_ids
        self._continues = continues
        self._offsets = [0] * len(choices)

    def __call__(self, index: int, delta: Delta) -> dict[str, list[Any]]:
        """Those of the delta's tokens; before a choice's first ones, those of the echoed prompt."""
        at = self._choices[index].at
        said = [at(delta.start + i, token_id) for i, token_id in enumerate(delta.token_ids)]
        echoed = self._prompts[index] if delta.start == 0 else None
        lists, end = self._lists(self._offsets[index], echoed, said)
        sent = len(delta.text) + (len(echoed.text) if echoed is not None else 0)
        self._offsets[index] = end if self._continues else self._offsets[index] + sent
        return lists

    def _lists(
        self, offset: int, echoed: EchoedPrompt | None, said: Iterable[Sequence[TokenLogprob]]
    ) -> tuple[dict[str, list[Any]], int]:
        """The lists, and the offset behind their last token."""
        tokens: list[str] = []
        logprobs: list[float | None] = []
        top: list[dict[str, float] | None] = []
        if echoed is not None:
            tokens.append(self._token(*echoed.first))
            logprobs.append(None)
            top.append(None)
            said = [*echoed.others, *said]
        for candidates in said:
            tokens.append(self._token(candidates[0].token_id, candidates[0].text))
            logprobs.append(max(candidates[0].logprob, LOWEST))
            top.append(self._top(candidates))
        offsets = []
        for token in tokens:
            offsets.append(offset)
            offset += len(token)
        return {"text_offset": offsets, "token_logprobs": logprobs, "tokens": tokens, "top_logprobs": top}, offset

    def _top(self, candidates: Sequence[TokenLogprob]) -> dict[str, float]:
        listed = candidates[: self._num_listed]
        return {self._token(one.token_id, one.text): max(one.logprob, LOWEST) for one in listed}

    def _token(self, token_id: int, text: str) -> str:
        return f"token_id:{token_id}" if self._as_token_ids else text
