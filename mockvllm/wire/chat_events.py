"""The response of /v1/chat/completions to one request: events and body, in the key order in which vLLM writes them."""

from collections.abc import Callable, Sequence
from typing import Any

from mockvllm.wire.chat_shape import NO_REASON, ChatShape, json_members, stream_choice, transfer_params
from mockvllm.wire.encoder import Delta, End, Said
from mockvllm.wire.errors import APIError
from mockvllm.wire.jsontext import compact
from mockvllm.wire.usage import EngineFacts, counts, metrics, prompt_details

DONE = b"data: [DONE]\n\n"
Logprobs = Callable[[int, Delta], list[dict[str, Any]]]


class ChatResponse:
    """What one request settles; the attributes without a parameter are what few requests ask for.

    `facts`: the engine's notes, per choice; none if the request is refused. `echo`: text that goes before the answer.
    `logprobs(index, delta)`: the entries of a delta's tokens.
    """

    include_usage = False
    continuous_usage = False
    return_token_ids = False
    prompt_token_ids: Sequence[int] | None = None
    prompt_text: str | None = None
    prompt_logprobs: list[Any] | None = None
    return_weight_versions = False
    echo = ""
    logprobs: Logprobs | None = None

    def __init__(
        self,
        shape: ChatShape,
        id: str,
        created: int,
        role: str,
        num_choices: int,
        num_prompt_tokens: int,
        facts: Sequence[EngineFacts],
    ) -> None:
        self.shape = shape
        self.id = id
        self.created = created
        self.role = role
        self.num_choices = num_choices
        self.num_prompt_tokens = num_prompt_tokens
        self.facts = facts
        self._head = shape.head(id, created)

    @property
    def is_plain(self) -> bool:
        return self.logprobs is None and not self.return_token_ids and not self.continuous_usage

    # --- a stream -------------------------------------------------------------------------------------------------

    def opening(self) -> bytes:
        """One role chunk a choice, then what is echoed."""
        delta = {"role": self.role, "content": ""}
        tail = {"prompt_token_ids": self.prompt_token_ids, "prompt_text": self.prompt_text}
        events = [
            self._event([stream_choice(index, delta) | NO_REASON], self._usage(0) | tail)
            for index in range(self.num_choices)
        ]
        if self.echo:
            echo = {"content": self.echo}
            events += [self._event([stream_choice(index, echo) | NO_REASON], {}) for index in range(self.num_choices)]
        return b"".join(events)

    def frame(self, index: int) -> tuple[bytes, bytes]:
        head, tail = self.shape.frame(index)
        return self._head + head, tail

    def delta(self, index: int, delta: Delta, num_tokens: int) -> bytes:
        choice = self._content(index, delta) | NO_REASON | {"token_ids": self._token_ids(delta)}
        return self._event([choice], self._usage(num_tokens) | transfer_params(self.shape.rules))

    def finish(self, index: int, delta: Delta, num_tokens: int, end: End) -> bytes:
        if not (num_tokens or self.shape.rules.finish_without_output):
            return b""
        choice = self._content(index, delta) | {
            "finish_reason": end.finish_reason,
            "stop_reason": end.stop_reason,
            "token_ids": self._token_ids(delta),
        }
        choice |= self._weight_versions(num_tokens)
        fingerprint = {} if self.include_usage else {"system_fingerprint": self.shape.system_fingerprint}
        return self._event([choice], self._usage(num_tokens) | fingerprint | transfer_params(self.shape.rules))

    def closing(self, num_completion_tokens: int) -> bytes:
        if not self.include_usage:
            return DONE
        usage = counts(self.num_prompt_tokens, num_completion_tokens)
        details = prompt_details(self.shape.usage, self.num_prompt_tokens, self._facts)
        if details is not None:
            usage["prompt_tokens_details"] = details
        rest = {"usage": usage, "system_fingerprint": self.shape.system_fingerprint}
        measured = self._metrics(num_completion_tokens)
        if measured is not None:
            rest["metrics"] = {key: value for key, value in measured.items() if value is not None}
        return self._event([], rest) + DONE

    def failure(self, error: APIError) -> bytes:
        return error.event(spaced=self.shape.rules.spaced_stream_errors)

    def _event(self, choices: list[dict[str, Any]], rest: dict[str, Any]) -> bytes:
        return self._head + compact(choices)[1:-1] + b"]" + json_members(rest) + b"}\n\n"

    def _content(self, index: int, delta: Delta) -> dict[str, Any]:
        return stream_choice(index, {"content": delta.text}, self._logprobs(index, delta))

    def _usage(self, num_tokens: int) -> dict[str, Any]:
        if not self.continuous_usage:
            return {}
        return {"usage": counts(self.num_prompt_tokens, num_tokens) | {"completion_tokens_details": None}}

    # --- a whole body ---------------------------------------------------------------------------------------------

    def body(self, choices: Sequence[Said]) -> bytes:
        num_completion_tokens = sum(len(said.delta.token_ids) for said in choices)
        usage = counts(self.num_prompt_tokens, num_completion_tokens)
        details = prompt_details(self.shape.usage, self.num_prompt_tokens, self._facts)
        usage["prompt_tokens_details"] = details and details | {"multimodal_tokens": None}
        usage["completion_tokens_details"] = None
        measured = self._metrics(num_completion_tokens)
        return compact(
            {
                "id": self.id,
                "object": "chat.completion",
                "created": self.created,
                "model": self.shape.model,
                "choices": [self._whole_choice(index, said) for index, said in enumerate(choices)],
                "service_tier": None,
                "system_fingerprint": self.shape.system_fingerprint,
                "usage": usage,
                "prompt_logprobs": self.prompt_logprobs,
                "prompt_token_ids": self.prompt_token_ids,
                "prompt_text": self.prompt_text,
                "kv_transfer_params": None,
                "ec_transfer_params": None,
                "metrics": measured and {**measured, "speculative_decoding": None},
            }
        )

    def _whole_choice(self, index: int, said: Said) -> dict[str, Any]:
        choice = {
            "index": index,
            "message": {
                "role": self.role,
                "content": self.echo + said.delta.text,
                "refusal": None,
                "annotations": None,
                "audio": None,
                "function_call": None,
                "reasoning": None,
            },
            "logprobs": self._logprobs(index, said.delta),
            "finish_reason": said.end.finish_reason,
            "stop_reason": said.end.stop_reason,
            "token_ids": self._token_ids(said.delta),
            "routed_experts": None,
        }
        return choice | self._weight_versions(len(said.delta.token_ids))

    # --- both -----------------------------------------------------------------------------------------------------

    @property
    def _facts(self) -> EngineFacts | None:
        return self.facts[0] if self.facts else None

    def _metrics(self, num_tokens: int) -> Any:
        return metrics(self.shape.usage, num_tokens, self._facts) if self.num_choices == 1 else None

    def _weight_versions(self, num_tokens: int) -> dict[str, Any]:
        """Which weights said which of a choice's tokens: there is one version of them."""
        if not self.shape.rules.weight_versions:
            return {}
        spans = [{"version": "default", "start": 0, "end": num_tokens}] if self.return_weight_versions else None
        return {"weight_versions": spans}

    def _token_ids(self, delta: Delta) -> Sequence[int] | None:
        return delta.token_ids if self.return_token_ids else None

    def _logprobs(self, index: int, delta: Delta) -> dict[str, Any] | None:
        return {"content": self.logprobs(index, delta)} if self.logprobs is not None else None
