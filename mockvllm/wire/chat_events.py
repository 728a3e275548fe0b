"""The response of /v1/chat/completions to one request: events and body, in the key order in which vLLM writes them."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from mockvllm.wire.chat_shape import NO_REASON, ChatShape, stream_choice
from mockvllm.wire.encoder import Delta, End, Said
from mockvllm.wire.jsontext import compact
from mockvllm.wire.response import Response, transfer_params
from mockvllm.wire.usage import EngineFacts, counts, prompt_details


class Role(NamedTuple):
    """In whose name the choices of a conversation speak, and what is echoed before each of them."""

    name: str
    echo: str = ""


class ChatResponse(Response):
    """`roles`: one for each conversation."""

    prompt_token_ids: Sequence[int] | None = None
    prompt_text: str | None = None
    prompt_logprobs: list[Any] | None = None

    def __init__(
        self,
        shape: ChatShape,
        id: str,
        created: int,
        roles: Sequence[Role],
        prompt_lengths: Sequence[int],
        facts: Sequence[EngineFacts],
    ) -> None:
        super().__init__(shape, id, created, prompt_lengths, facts)
        self.roles = roles

    def prompt_details(self) -> dict[str, int | None] | None:
        return prompt_details(self.shape.usage, self.num_prompt_tokens, self.facts[0] if self.facts else None)

    # --- a stream -------------------------------------------------------------------------------------------------

    def opening(self) -> bytes:
        """One role chunk a choice, then what is echoed."""
        tail = self._usage(0, 0) | {"prompt_token_ids": self.prompt_token_ids, "prompt_text": self.prompt_text}
        roles = [self.roles[self.prompt_of(index)] for index in range(self.num_choices)]
        events = [self._said(index, {"role": role.name, "content": ""}, tail) for index, role in enumerate(roles)]
        events += [self._said(index, {"content": role.echo}, {}) for index, role in enumerate(roles) if role.echo]
        return b"".join(events)

    def delta(self, index: int, delta: Delta, num_tokens: int) -> bytes:
        choice = self._content(index, delta) | NO_REASON | {"token_ids": self._token_ids(delta)}
        return self._event([choice], self._usage(index, num_tokens) | transfer_params(self.shape.rules))

    def finish(self, index: int, delta: Delta, num_tokens: int, end: End) -> bytes:
        if not (num_tokens or self.shape.rules.finish_without_output):
            return b""
        choice = self._content(index, delta) | {
            "finish_reason": self.finish_reason(index, end),
            "stop_reason": end.stop_reason,
            "token_ids": self._token_ids(delta),
        }
        choice |= self._weight_versions(num_tokens)
        return self._event([choice], self._usage(index, num_tokens) | self._end_members(index))

    def _said(self, index: int, delta: dict[str, Any], tail: dict[str, Any]) -> bytes:
        return self._event([stream_choice(index, delta) | NO_REASON], tail)

    def _content(self, index: int, delta: Delta) -> dict[str, Any]:
        return stream_choice(index, self.message_delta(index, delta, finished=True) or {}, self._logprobs(index, delta))

    def message_delta(self, index: int, delta: Delta, *, finished: bool = False) -> dict[str, Any] | None:
        """What a delta adds to the choice's message; None: nothing, not even an empty text."""
        return {"content": delta.text}

    def _usage(self, index: int, num_tokens: int) -> dict[str, Any]:
        if not self.continuous_usage:
            return {}
        details = {"completion_tokens_details": self.completion_details(index)}
        return {"usage": counts(self.num_prompt_tokens, num_tokens) | details}

    # --- a whole body ---------------------------------------------------------------------------------------------

    def body(self, choices: Sequence[Said]) -> bytes:
        num_completion_tokens = sum(len(said.delta.token_ids) for said in choices)
        return compact(
            {
                "id": self.id,
                "object": "chat.completion",
                "created": self.created,
                "model": self.shape.model,
                "choices": [self._whole_choice(index, said) for index, said in enumerate(choices)],
                "service_tier": None,
                **self._whole_fingerprint(),
                "usage": self._whole_usage(num_completion_tokens),
                "prompt_logprobs": self.prompt_logprobs,
                "prompt_token_ids": self.prompt_token_ids,
                "prompt_text": self.prompt_text,
                "kv_transfer_params": self._transfer_params(),
                "ec_transfer_params": None,
                "metrics": self._whole_metrics(num_completion_tokens),
            }
        )

    def _whole_choice(self, index: int, said: Said) -> dict[str, Any]:
        choice = {
            "index": index,
            "message": self.message(index, said),
            "logprobs": self._logprobs(index, said.delta),
            "finish_reason": self.finish_reason(index, said.end),
            "stop_reason": said.end.stop_reason,
            "token_ids": self._token_ids(said.delta),
            "routed_experts": None,
        }
        return choice | self._weight_versions(len(said.delta.token_ids))

    def message(self, index: int, said: Said) -> dict[str, Any]:
        """A whole choice's message."""
        role, echo = self.roles[self.prompt_of(index)]
        return {
            "role": role,
            "content": echo + said.delta.text,
            "refusal": None,
            "annotations": None,
            "audio": None,
            "function_call": None,
            "reasoning": None,
        }

    # --- both -----------------------------------------------------------------------------------------------------

    def finish_reason(self, index: int, end: End) -> str:
        return end.finish_reason

    def _logprobs(self, index: int, delta: Delta) -> dict[str, Any] | None:
        return {"content": self.logprobs(index, delta)} if self.logprobs is not None else None
