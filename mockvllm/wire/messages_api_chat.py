"""A request of the Anthropic API as the chat request that vLLM makes of it (0.30 to 0.33)."""

from collections.abc import Callable, Sequence
from typing import Any

from mockvllm.wire.chat_request import (
    ChatCompletionNamedToolChoiceParam,
    ChatCompletionRequest,
    ChatCompletionToolsParam,
)
from mockvllm.wire.checks import check_body
from mockvllm.wire.messages_api_conversation import conversation
from mockvllm.wire.messages_api_request import AnthropicCountTokensRequest, AnthropicMessagesRequest
from mockvllm.wire.messages_api_types import (
    AnthropicOutputConfig,
    AnthropicThinkingConfigDisabled,
    AnthropicThinkingConfigEnabled,
    AnthropicTool,
    AnthropicToolChoice,
    Thinking,
)
from mockvllm.wire.response_format import ResponseFormat

_SAME = (
    "model",
    "temperature",
    "top_p",
    "top_k",
    "cache_salt",
    "kv_transfer_params",
    "ec_transfer_params",
    "vllm_xargs",
    "chat_template_kwargs",
)
_CHOICES = {"auto": "auto", "any": "required", "none": "none"}


def chat_request(
    request: AnthropicMessagesRequest | AnthropicCountTokensRequest, disabled_effort: Callable[[], str]
) -> ChatCompletionRequest:
    """`disabled_effort`: the reasoning effort of who wants no thinking. Raises APIError for what chat completions
    refuse.
    """
    given = request.given
    fields = {name: given[name] for name in _SAME if given.get(name) is not None}
    fields["messages"] = conversation(request.system, request.messages)
    if isinstance(request, AnthropicMessagesRequest):
        fields |= {"max_tokens": request.max_tokens, "max_completion_tokens": request.max_tokens}
        fields["stream"] = bool(request.stream)
    check_body(fields)
    chat = ChatCompletionRequest.parse(fields)
    chat.given.update(_tools(request.tools, request.tool_choice))
    chat.given.update(_output(request.output_config))
    chat.given.update(_thinking(request.thinking, disabled_effort))
    if isinstance(request, AnthropicMessagesRequest):
        chat.given["stop"] = request.stop_sequences
    return chat


def _thinking(config: Thinking | None, disabled_effort: Callable[[], str]) -> dict[str, Any]:
    """A wish for no thinking goes before the effort; who leaves it to the model (`adaptive`) wishes nothing."""
    match config:
        case AnthropicThinkingConfigEnabled():
            return {"thinking_token_budget": config.budget_tokens}
        case AnthropicThinkingConfigDisabled():
            return {"reasoning_effort": disabled_effort()}
    return {}


def _output(config: AnthropicOutputConfig | None) -> dict[str, Any]:
    options: dict[str, Any] = {}
    if config is not None and config.effort is not None:
        options["reasoning_effort"] = config.effort
    if config is not None and config.format is not None and config.format.json_schema:
        named = {"name": config.format.type, "schema": config.format.json_schema}
        options["response_format"] = ResponseFormat.model_validate({"type": config.format.type, "json_schema": named})
    return options


def _tools(tools: Sequence[AnthropicTool] | None, choice: AnthropicToolChoice | None) -> dict[str, Any]:
    options: dict[str, Any] = {}
    if choice is not None:
        options["parallel_tool_calls"] = not choice.disable_parallel_tool_use
        options["tool_choice"] = _CHOICES.get(choice.type) or _named(choice.name)
    if tools is not None:
        options["tools"] = [_tool(tool) for tool in tools]
    return options


def _named(name: str | None) -> ChatCompletionNamedToolChoiceParam:
    return ChatCompletionNamedToolChoiceParam.model_validate({"function": {"name": name}})


def _tool(tool: AnthropicTool) -> ChatCompletionToolsParam:
    function = {
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.input_schema,
        "strict": tool.strict,
        "defer_loading": tool.defer_loading,
    }
    return ChatCompletionToolsParam.model_validate({"function": function})
