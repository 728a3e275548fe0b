"""The response object of /v1/responses, in the key order in which vLLM writes it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel

from mockvllm.profiles.responses import ResponsesRules
from mockvllm.wire.responses_output import Item
from mockvllm.wire.responses_request import ResponsesRequest
from mockvllm.wire.usage import EngineFacts, UsageRules, metrics

ResponseStatus = Literal["queued", "in_progress", "completed", "incomplete", "cancelled", "failed"]
Response = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ResponsesShape:
    """What the server's flags and the vLLM release settle about every response."""

    model: str
    rules: ResponsesRules
    usage: UsageRules


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of a response: of its prompt, of all it said, of its reasoning."""

    num_prompt_tokens: int
    num_output_tokens: int
    num_reasoning_tokens: int = 0


class ResponseObject:
    """`values`: the sampling parameters that hold. `messages`: prompt and answer as they were, if asked for."""

    def __init__(
        self, shape: ResponsesShape, id: str, created_at: int, request: ResponsesRequest, values: Mapping[str, Any]
    ) -> None:
        self.id = id
        self._shape = shape
        self._created_at = created_at
        self._request = request
        self._values = values

    def begun(self, status: ResponseStatus) -> Response:
        """Before anything is said."""
        return self._object(status, [], None, {"kv_transfer_params": None}, (None, None))

    def ended(
        self,
        status: ResponseStatus,
        output: Sequence[Item],
        usage: Usage,
        facts: EngineFacts | None,
        messages: tuple[Any, Any] = (None, None),
    ) -> Response:
        """`facts`: what the engine notes. `messages`: prompt and answer with their tokens, if asked for."""
        measured = metrics(self._shape.usage, usage.num_output_tokens, facts)
        shown: dict[str, Any] = {} if measured is None else {"metrics": {**measured, "speculative_decoding": None}}
        shown["kv_transfer_params"] = facts.finished_kv_transfer_params if facts else None
        return self._object(status, output, self._usage(usage, facts), shown, messages)

    def _object(
        self,
        status: ResponseStatus,
        output: Sequence[Item],
        usage: dict[str, Any] | None,
        noted: dict[str, Any],
        messages: tuple[Any, Any],
    ) -> Response:
        request, values = self._request, self._values
        return {
            "id": self.id,
            "created_at": self._created_at,
            "incomplete_details": {"reason": "max_output_tokens"} if status == "incomplete" else None,
            "instructions": request.instructions,
            "metadata": request.metadata,
            "model": self._shape.model,
            "object": "response",
            "output": output,
            "parallel_tool_calls": request.parallel_tool_calls is not False,
            "temperature": values["temperature"],
            "tool_choice": _shown(request.tool_choice),
            "tools": request.tools,
            "top_p": values["top_p"],
            "background": bool(request.background),
            "max_output_tokens": values["max_tokens"],
            "max_tool_calls": request.max_tool_calls,
            "previous_response_id": request.previous_response_id,
            "prompt": None,
            **self._cache_fields("prompt_cache_options", "prompt_cache_key", "prompt_cache_retention"),
            "reasoning": _shown(request.reasoning),
            **self._cache_fields("safety_identifier"),
            "service_tier": request.service_tier,
            "status": status,
            "text": _shown(request.text),
            "top_logprobs": values.get("num_logprobs"),
            "truncation": request.truncation,
            "usage": usage,
            "user": request.user,
            "presence_penalty": values["presence_penalty"],
            "frequency_penalty": values["frequency_penalty"],
            **noted,
            "ec_transfer_params": None,
            "input_messages": messages[0],
            "output_messages": messages[1],
        }

    def _cache_fields(self, *names: str) -> dict[str, Any]:
        if not self._shape.rules.shows_cache_fields:
            return {}
        return {name: _shown(getattr(self._request, name)) for name in names}

    def _usage(self, usage: Usage, facts: EngineFacts | None) -> dict[str, Any]:
        cached = max(0, facts.reported_cached_tokens) if facts else 0
        block_size = self._shape.usage.block_size
        full_blocks = usage.num_prompt_tokens // block_size * block_size
        written = {"cache_write_tokens": max(0, full_blocks - cached)} if self._shape.rules.cache_write_tokens else {}
        return {
            "input_tokens": usage.num_prompt_tokens,
            "input_tokens_details": {
                "cached_tokens": cached,
                **written,
                "input_tokens_per_turn": [],
                "cached_tokens_per_turn": [],
            },
            "output_tokens": usage.num_output_tokens,
            "output_tokens_details": {
                "reasoning_tokens": usage.num_reasoning_tokens,
                "tool_output_tokens": 0,
                "output_tokens_per_turn": [],
                "tool_output_tokens_per_turn": [],
            },
            "total_tokens": usage.num_prompt_tokens + usage.num_output_tokens,
        }


def _shown(value: Any) -> Any:
    return value.model_dump(mode="json", by_alias=True) if isinstance(value, BaseModel) else value
