"""A request of /v1/responses as a chat request: what is common to both is done once."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from mockvllm.wire.chat_request import (
    ChatCompletionNamedToolChoiceParam,
    ChatCompletionRequest,
    ChatCompletionToolsParam,
)
from mockvllm.wire.errors import invalid
from mockvllm.wire.response_format import ResponseFormat
from mockvllm.wire.responses_input import Message, continues_last_message, input_messages
from mockvllm.wire.responses_request import ResponsesRequest
from mockvllm.wire.responses_types import ResponseFormatJSONObject, ResponseFormatTextJSONSchemaConfig

_SAME = (
    "cache_salt",
    "chat_template_kwargs",
    "ec_transfer_params",
    "frequency_penalty",
    "ignore_eos",
    "include_reasoning",
    "include_stop_str_in_output",
    "kv_transfer_params",
    "logit_bias",
    "media_io_kwargs",
    "min_p",
    "mm_processor_kwargs",
    "model",
    "parallel_tool_calls",
    "presence_penalty",
    "priority",
    "repetition_penalty",
    "request_id",
    "seed",
    "skip_special_tokens",
    "stop_token_ids",
    "stream",
    "structured_outputs",
    "temperature",
    "top_k",
    "top_p",
    "vllm_xargs",
)


class ResponsesChatRequest(ChatCompletionRequest):
    """`origin`: the request it was made of. Its messages were validated as the items they come from."""

    proofs: ClassVar = {"messages": lambda messages: True, "origin": lambda origin: True}

    origin: ResponsesRequest


def chat_request(origin: ResponsesRequest, history: Sequence[Message]) -> ResponsesChatRequest:
    """`history`: the messages of the responses that it goes on from. Raises APIError."""
    given = origin.given
    fields: dict[str, Any] = {name: given[name] for name in _SAME if given.get(name) is not None}
    fields |= {"origin": origin, "add_special_tokens": True, "max_completion_tokens": origin.max_output_tokens}
    system = [{"role": "system", "content": origin.instructions}] if origin.instructions else []
    fields["messages"] = [*system, *history, *input_messages(origin.input)]
    if origin.truncation != "disabled":
        fields["truncate_prompt_tokens"] = -1
    if continues_last_message(origin.input):
        fields |= {"continue_final_message": True, "add_generation_prompt": False}
    if origin.wants_logprobs and origin.top_logprobs is not None:
        fields |= {"logprobs": True, "top_logprobs": origin.top_logprobs}
    if origin.reasoning is not None:
        fields["reasoning_effort"] = origin.reasoning.effort
    request = ResponsesChatRequest.parse(fields)
    request.given.update(_tools(origin) | _response_format(origin))
    if origin.stop is not None:
        request.given["stop"] = origin.stop
    return request


def check_one_constraint(origin: ResponsesRequest) -> None:
    if origin.structured_outputs is not None and origin.text is not None and origin.text.format is not None:
        raise invalid("Cannot specify both structured_outputs and text.format", "structured_outputs")


def _tools(origin: ResponsesRequest) -> dict[str, Any]:
    tools = [_tool(tool) for tool in _functions(origin.tools)]
    if not tools:
        return {}
    choice = origin.tool_choice
    if isinstance(choice, str):
        return {"tools": tools, "tool_choice": choice}
    name = getattr(choice, "name", None)
    if name is None:  # a choice among tools that only the server could run
        return {"tools": tools, "tool_choice": "auto"}
    named = ChatCompletionNamedToolChoiceParam.model_validate({"function": {"name": name}})
    return {"tools": tools, "tool_choice": named}


def _functions(tools: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The functions among the tools; those of a namespace are called by both names."""
    functions: list[Mapping[str, Any]] = []
    for tool in tools:
        if tool["type"] == "function":
            functions.append(tool)
        elif tool["type"] == "namespace":
            inner = [function for function in tool["tools"] if function.get("type") == "function"]
            functions += [{**function, "name": f"{tool['name']}__{function['name']}"} for function in inner]
    return functions


def _tool(tool: Mapping[str, Any]) -> ChatCompletionToolsParam:
    options = {name: tool.get(name) for name in ("name", "description", "parameters", "strict", "defer_loading")}
    return ChatCompletionToolsParam.model_validate({"function": options})


def _response_format(origin: ResponsesRequest) -> dict[str, Any]:
    match origin.text and origin.text.format:
        case ResponseFormatTextJSONSchemaConfig() as config:
            named = {"name": config.name, "schema": config.schema_}
            return {"response_format": ResponseFormat.model_validate({"type": config.type, "json_schema": named})}
        case ResponseFormatJSONObject() as config:
            return {"response_format": ResponseFormat(type=config.type)}
    return {}
