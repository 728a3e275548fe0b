"""The response of /v1/completions to one request: events and body, in the key order in which vLLM writes them."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from mockvllm.wire.encoder import Delta, End, Said
from mockvllm.wire.errors import APIError
from mockvllm.wire.jsontext import compact
from mockvllm.wire.response import TEXT, Response, Shape, transfer_params
from mockvllm.wire.usage import cached_tokens, counts

_NOT_ENDED: dict[str, Any] = {"finish_reason": None, "stop_reason": None}


class CompletionShape(Shape):
    event_object = "text_completion"

    def plain_choice(self, index: int) -> dict[str, Any]:
        versions = {"weight_versions": None} if self.rules.weight_versions else {}
        return _stream_choice(index, TEXT, None, _NOT_ENDED) | {"prompt_token_ids": None, "token_ids": None} | versions


class PromptPart(NamedTuple):
    """What each choice shows of its prompt: an echo before its text, the tokens, their log-probabilities."""

    echo: str = ""
    token_ids: Sequence[int] | None = None
    logprobs: list[Any] | None = None


class _Silence(NamedTuple):
    """No token at all."""

    text: str = ""
    start: int = 0
    token_ids: Sequence[int] = ()


_NOTHING = PromptPart()
_SILENCE = _Silence()


class CompletionResponse(Response):
    """`prompts`: what is shown of each; empty: nothing. `is_only_echo`: the prompt is all that is shown."""

    prompts: Sequence[PromptPart] = ()
    is_only_echo = False

    @property
    def is_plain(self) -> bool:
        return not self.prompts and super().is_plain

    def prompt_details(self) -> dict[str, int | None] | None:
        """The last prompt's; vLLM does not count here what was written to the cache."""
        return cached_tokens(self.shape.usage, self.facts[-1] if self.facts else None)

    # --- a stream -------------------------------------------------------------------------------------------------

    def opening(self) -> bytes:
        return b""

    def delta(self, index: int, delta: Delta, num_tokens: int) -> bytes:
        versions = {"weight_versions": None} if self.shape.rules.weight_versions else {}
        choice = self._choice(index, delta, _NOT_ENDED) | versions
        return self._event([choice], self._usage(index, num_tokens) | transfer_params(self.shape.rules))

    def finish(self, index: int, delta: Delta, num_tokens: int, end: End) -> bytes:
        if not (num_tokens or self.shape.rules.finish_without_output):
            return b""
        choice = self._choice(index, delta, _reasons(end)) | self._weight_versions(num_tokens)
        return self._event([choice], self._usage(index, num_tokens) | self._end_members(index))

    def failure(self, error: APIError) -> bytes:
        return error.event(spaced=True)

    def _choice(self, index: int, delta: Delta, reasons: dict[str, Any]) -> dict[str, Any]:
        """The first one of a choice also shows its prompt."""
        prompt = self._prompt(index) if delta.start == 0 else _NOTHING
        shown = self._shown(delta)
        choice = _stream_choice(index, prompt.echo + shown.text, self._logprobs(index, shown), reasons)
        return choice | {"prompt_token_ids": prompt.token_ids, "token_ids": self._token_ids(delta)}

    def _usage(self, index: int, num_tokens: int) -> dict[str, Any]:
        if not self.continuous_usage:
            return {}
        return {"usage": counts(self.prompt_lengths[self.prompt_of(index)], num_tokens)}

    # --- a whole body ---------------------------------------------------------------------------------------------

    def body(self, choices: Sequence[Said]) -> bytes:
        num_completion_tokens = sum(len(said.delta.token_ids) for said in choices)
        return compact(
            {
                "id": self.id,
                "object": "text_completion",
                "created": self.created,
                "model": self.shape.model,
                "choices": [self._whole_choice(index, said) for index, said in enumerate(choices)],
                "service_tier": None,
                **self._whole_fingerprint(),
                "usage": self._whole_usage(num_completion_tokens),
                "kv_transfer_params": self._transfer_params(),
                "ec_transfer_params": None,
                "metrics": self._whole_metrics(num_completion_tokens),
            }
        )

    def _whole_choice(self, index: int, said: Said) -> dict[str, Any]:
        prompt, shown = self._prompt(index), self._shown(said.delta)
        choice = {
            "index": index,
            "text": prompt.echo + shown.text,
            "logprobs": self._logprobs(index, shown),
            **_reasons(said.end),
            "token_ids": self._token_ids(said.delta),
            "prompt_logprobs": prompt.logprobs,
            "prompt_token_ids": prompt.token_ids if self.return_token_ids else None,
            "routed_experts": None,
        }
        return choice | self._weight_versions(len(said.delta.token_ids))

    # --- both -----------------------------------------------------------------------------------------------------

    def _prompt(self, index: int) -> PromptPart:
        return self.prompts[self.prompt_of(index)] if self.prompts else _NOTHING

    def _shown(self, delta: Delta) -> Delta:
        return _SILENCE if self.is_only_echo else delta

    def _logprobs(self, index: int, delta: Delta) -> Any:
        return None if self.logprobs is None else self.logprobs(index, delta)


def _stream_choice(index: int, text: str, logprobs: Any, reasons: dict[str, Any]) -> dict[str, Any]:
    return {"index": index, "text": text, "logprobs": logprobs, **reasons}


def _reasons(end: End) -> dict[str, Any]:
    return {"finish_reason": end.finish_reason, "stop_reason": end.stop_reason}
