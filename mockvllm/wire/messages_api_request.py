"""The requests of /v1/messages and /v1/messages/count_tokens (vLLM 0.33; fields in vLLM's order)."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from mockvllm.wire.errors import APIError
from mockvllm.wire.fields import RequestModel
from mockvllm.wire.messages_api_types import (
    AnthropicContentBlock,
    AnthropicMessage,
    AnthropicOutputConfig,
    AnthropicThinkingConfigEnabled,
    AnthropicTool,
    NamedToolChoice,
    Thinking,
    must,
)
from mockvllm.wire.stop_strings import StopList
from mockvllm.wire.validation import Failure, bad_request

BUDGET_TOO_LARGE = "thinking.budget_tokens must be less than max_tokens"

Model = Annotated[str, must(bool, "Model is required")]
XArg = str | int | float


class AnthropicCountTokensRequest(RequestModel):
    model: Model
    messages: list[AnthropicMessage]
    output_config: AnthropicOutputConfig | None = None
    system: str | list[AnthropicContentBlock] | None = None
    thinking: Thinking | None = None
    tool_choice: NamedToolChoice | None = None
    tools: list[AnthropicTool] | None = None
    chat_template_kwargs: dict[str, Any] | None = None


class AnthropicMessagesRequest(RequestModel):
    model: Model
    messages: list[AnthropicMessage]
    max_tokens: Annotated[int, must(lambda value: value > 0, "max_tokens must be positive")]
    metadata: dict[str, Any] | None = None
    output_config: AnthropicOutputConfig | None = None
    thinking: Thinking | None = None
    stop_sequences: StopList | None = None
    stream: bool | None = False
    system: str | list[AnthropicContentBlock] | None = None
    temperature: float | None = None
    tool_choice: NamedToolChoice | None = None
    tools: list[AnthropicTool] | None = None
    top_k: int | None = None
    top_p: float | None = None
    mm_payload: Literal["tensors", "none"] = "tensors"
    return_mm_kwargs: bool | None = None
    cache_salt: Annotated[str, Field(min_length=1, max_length=1024)] | None = None
    watermarking: bool | None = None
    kv_transfer_params: dict[str, Any] | None = None
    ec_transfer_params: dict[str, Any] | None = None
    vllm_xargs: dict[str, XArg | list[XArg]] | None = None
    chat_template_kwargs: dict[str, Any] | None = None


def check_thinking_budget(request: AnthropicMessagesRequest, body: Mapping[str, Any]) -> None:
    """Raises APIError when the budget leaves nothing to answer with (vLLM 0.32 and later)."""
    thinking = request.thinking
    if isinstance(thinking, AnthropicThinkingConfigEnabled) and thinking.budget_tokens >= request.max_tokens:
        raise _value_error(BUDGET_TOO_LARGE, body)


def _value_error(message: str, value: object) -> APIError:
    return bad_request([Failure("value_error", (), f"Value error, {message}", value, {"error": ValueError(message)})])
