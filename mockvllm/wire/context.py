"""The context window: what a prompt and a request for tokens may come to (vLLM's TokenizeParams)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from mockvllm.wire.errors import APIError, invalid


class Asked(NamedTuple):
    """What a request asks of the window: `tokens` (named by `parameter`), and a cut of the prompt (-1: as fits)."""

    parameter: str
    tokens: int | None
    truncate: int | None


def asked(given: Mapping[str, Any]) -> Asked:
    """`given`: the request's fields. `max_completion_tokens` wins over the older `max_tokens`."""
    truncate = given.get("truncate_prompt_tokens")
    if given.get("max_completion_tokens") is not None:
        return Asked("max_completion_tokens", given["max_completion_tokens"], truncate)
    return Asked("max_tokens", given.get("max_tokens"), truncate)


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

    def check_request(self, ask: Asked) -> None:
        """Before the prompt is rendered: what is asked for must fit by itself."""
        if ask.tokens is not None and ask.tokens > self.max_model_len:
            shown = "max_model_len=max_total_tokens" if self.reserves_output else "max_model_len"
            message = f"{ask.parameter}={ask.tokens} cannot be greater than {shown}={self.max_model_len}."
            raise invalid(f"{message} Please request fewer output tokens.", ask.parameter, ask.tokens)
        if ask.truncate is not None and ask.truncate > self.input_budget(ask):
            limit = "max_model_len - max_tokens" if self.reserves_output else "max_model_len"
            message = (
                f"truncate_prompt_tokens={ask.truncate} cannot be greater than {limit} = {self.input_budget(ask)}."
            )
            advice = "Please request a smaller truncation size."
            raise invalid(f"{message} {advice}", "truncate_prompt_tokens", ask.truncate)

    def check_text(self, ask: Asked, text: str) -> None:
        """A text of more characters than the window's tokens could hold is refused without being tokenized."""
        if self.max_chars_per_token is None or ask.truncate is not None:
            return
        budget = self.input_budget(ask)
        most = budget * self.max_chars_per_token
        if len(text) > most:
            bound = f"(more than {most} characters, which is the upper bound for {budget} input tokens)"
            raise self._too_long(ask, f"{len(text)} characters {bound}", "input_text", len(text))

    def check_tokens(self, ask: Asked, num_tokens: int) -> None:
        """`num_tokens`: of the prompt, counted no further than one more than fits."""
        budget = self.input_budget(ask)
        if num_tokens <= budget:
            return
        least = "at least " if num_tokens == budget + 1 else ""
        what = f"{least}{num_tokens} input tokens"
        if self.reserves_output:
            what += f", for a total of {least}{num_tokens + (ask.tokens or 0)} tokens"
        else:
            what += ", which exceeds this limit even without any output tokens"
        raise self._too_long(ask, what, "input_tokens", num_tokens)

    def truncate_to(self, ask: Asked) -> int | None:
        """The length to cut the prompt to; None: not at all."""
        if ask.truncate != -1:
            return ask.truncate
        return self.input_budget(ask) if self.reserves_output else self.max_model_len - 1

    def max_tokens(self, ask: Asked, num_prompt_tokens: int) -> int:
        """How many tokens the request may have: what it asks for, no more than fits."""
        most = self.max_model_len - num_prompt_tokens
        wanted = self.default_max_tokens if ask.tokens is None else ask.tokens
        if wanted is not None and wanted < most:
            most = wanted
        override = self.override_max_tokens
        return most if override is None or override > most else override

    def input_budget(self, ask: Asked) -> int:
        """How many tokens a prompt may have."""
        return self.max_model_len - (ask.tokens or 0) if self.reserves_output else self.max_model_len

    def _too_long(self, ask: Asked, what: str, parameter: str, value: int) -> APIError:
        contains = f"your prompt contains {what}."
        advice = "Please reduce the length of the input prompt"
        if self.reserves_output:
            contains = f"you requested {ask.tokens or 0} output tokens and {contains}"
            advice += " or the number of requested output tokens"
        intro = f"This model's maximum context length is {self.max_model_len} tokens. However,"
        return invalid(f"{intro} {contains} {advice}.", parameter, value)
