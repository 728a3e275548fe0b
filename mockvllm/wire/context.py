"""The context window: what a prompt and a request for tokens may come to (vLLM's TokenizeParams)."""

from dataclasses import dataclass
from typing import Any, Protocol

from mockvllm.wire.errors import APIError, invalid


class AsksForTokens(Protocol):
    """The fields of a request that the window is about."""

    @property
    def given(self) -> dict[str, Any]: ...


@dataclass(frozen=True, slots=True)
class Window:
    """`reserves_output`: vLLM 0.30 counts the requested output into the window, later versions only the prompt.

    `default_max_tokens`: the generation config's; `override_max_tokens` caps every request.
    """

    max_model_len: int
    max_chars_per_token: int | None = None
    reserves_output: bool = False
    default_max_tokens: int | None = None
    override_max_tokens: int | None = None

    def check_request(self, request: AsksForTokens) -> None:
        """Before the prompt is rendered: what is asked for must fit by itself."""
        parameter, tokens = requested(request)
        if tokens is not None and tokens > self.max_model_len:
            shown = "max_model_len=max_total_tokens" if self.reserves_output else "max_model_len"
            message = f"{parameter}={tokens} cannot be greater than {shown}={self.max_model_len}."
            raise invalid(f"{message} Please request fewer output tokens.", parameter, tokens)
        truncate = request.given.get("truncate_prompt_tokens")
        budget = self._input_budget(tokens)
        if truncate is not None and truncate > budget:
            limit = "max_model_len - max_tokens" if self.reserves_output else "max_model_len"
            message = f"truncate_prompt_tokens={truncate} cannot be greater than {limit} = {budget}."
            raise invalid(f"{message} Please request a smaller truncation size.", "truncate_prompt_tokens", truncate)

    def check_text(self, request: AsksForTokens, text: str) -> None:
        """A text of more characters than the window's tokens could hold is refused without being tokenized."""
        if self.max_chars_per_token is None or request.given.get("truncate_prompt_tokens") is not None:
            return
        tokens = requested(request)[1]
        budget = self._input_budget(tokens)
        most = budget * self.max_chars_per_token
        if len(text) > most:
            bound = f"(more than {most} characters, which is the upper bound for {budget} input tokens)"
            raise self._too_long(f"{len(text)} characters {bound}", tokens, "", "input_text", len(text))

    def check_tokens(self, request: AsksForTokens, num_tokens: int) -> None:
        """`num_tokens`: of the prompt, counted no further than one more than fits."""
        tokens = requested(request)[1]
        budget = self._input_budget(tokens)
        if num_tokens > budget:
            least = "at least " if num_tokens == budget + 1 else ""
            total = f", for a total of {least}{num_tokens + (tokens or 0)} tokens"
            raise self._too_long(f"{least}{num_tokens} input tokens", tokens, total, "input_tokens", num_tokens)

    def count_limit(self, request: AsksForTokens) -> int | None:
        """How many tokens of a prompt need to be counted; None: all (it will be truncated)."""
        if request.given.get("truncate_prompt_tokens") is not None:
            return None
        return self._input_budget(requested(request)[1]) + 1

    def truncate_to(self, request: AsksForTokens) -> int | None:
        """The length to cut the prompt to; None: not at all."""
        size = request.given.get("truncate_prompt_tokens")
        if size != -1:
            return size
        return self._input_budget(requested(request)[1]) if self.reserves_output else self.max_model_len - 1

    def max_tokens(self, request: AsksForTokens, num_prompt_tokens: int) -> int:
        """How many tokens the request may have: what it asks for, no more than fits."""
        wanted = requested(request)[1]
        wanted = self.default_max_tokens if wanted is None else wanted
        room = self.max_model_len - num_prompt_tokens
        return min([limit for limit in (room, wanted, self.override_max_tokens) if limit is not None])

    def _input_budget(self, tokens: int | None) -> int:
        return self.max_model_len - (tokens or 0) if self.reserves_output else self.max_model_len

    def _too_long(self, what: str, tokens: int | None, total: str, parameter: str, value: int) -> APIError:
        intro = f"This model's maximum context length is {self.max_model_len} tokens. However, "
        if self.reserves_output:
            told = f"you requested {tokens or 0} output tokens and your prompt contains {what}{total}."
            advice = "Please reduce the length of the input prompt or the number of requested output tokens."
        else:
            over = ", which exceeds this limit even without any output tokens" if parameter == "input_tokens" else ""
            told = f"your prompt contains {what}{over}."
            advice = "Please reduce the length of the input prompt."
        return invalid(f"{intro}{told} {advice}", parameter, value)


def requested(request: AsksForTokens) -> tuple[str, int | None]:
    """(field, tokens): `max_completion_tokens` wins over the older `max_tokens`."""
    given = request.given
    if given.get("max_completion_tokens") is not None:
        return "max_completion_tokens", given["max_completion_tokens"]
    return "max_tokens", given.get("max_tokens")
