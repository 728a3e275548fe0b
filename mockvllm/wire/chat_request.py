"""The request of /v1/chat/completions (vLLM 0.33; fields in the order in which vLLM declares and validates them)."""

from collections.abc import Sequence
from typing import Any, ClassVar, Literal, get_args

from mockvllm.wire.fields import RequestObject
from mockvllm.wire.generation_request import GenerationRequest
from mockvllm.wire.messages import ChatMessage, are_plain, check_tool_calls, shape

Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]
EFFORTS: Sequence[Effort] = get_args(Effort)


class FunctionDefinition(RequestObject):
    name: str
    description: str | None = None
    parameters: dict[str, Any] | None = None
    strict: bool | None = None
    defer_loading: bool | None = None


class ChatCompletionToolsParam(RequestObject):
    type: Literal["function"] = "function"
    function: FunctionDefinition
    defer_loading: bool | None = None


def tool_definition(tool: ChatCompletionToolsParam) -> dict[str, Any]:
    """A tool as chat templates see it: without the options that are unset."""
    definition = tool.model_dump()
    for options in (definition, definition["function"]):
        for option in ("strict", "defer_loading"):
            if options.get(option) is None:
                options.pop(option, None)
    return definition


class ChatCompletionNamedFunction(RequestObject):
    name: str


class ChatCompletionNamedToolChoiceParam(RequestObject):
    function: ChatCompletionNamedFunction
    type: Literal["function"] = "function"


class ChatCompletionRequest(GenerationRequest):
    """Its fields stand among the common ones as vLLM declares them."""

    proofs: ClassVar = {"messages": are_plain}
    before: ClassVar = {"messages": check_tool_calls}
    shapes: ClassVar = {"messages": shape}
    behind: ClassVar = {
        None: ("messages",),
        "logprobs": ("top_logprobs",),
        "max_tokens": ("max_completion_tokens",),
        "top_p": ("tools", "tool_choice", "reasoning_effort"),
        "thinking_token_budget": ("include_reasoning", "parallel_tool_calls"),
        "echo": ("add_generation_prompt", "continue_final_message"),
        "add_special_tokens": (
            "documents",
            "chat_template",
            "chat_template_kwargs",
            "media_io_kwargs",
            "mm_processor_kwargs",
        ),
        "return_token_offsets": ("return_prompt_text",),
    }

    messages: list[ChatMessage]
    logprobs: bool | None = False
    top_logprobs: int | None = 0
    max_completion_tokens: int | None = None
    tools: list[ChatCompletionToolsParam] | None = None
    tool_choice: Literal["none"] | Literal["auto"] | Literal["required"] | ChatCompletionNamedToolChoiceParam | None = (
        "none"
    )
    reasoning_effort: Effort | None = None
    include_reasoning: bool = True
    parallel_tool_calls: bool | None = True
    echo: bool = False
    add_generation_prompt: bool = True
    continue_final_message: bool = False
    documents: list[dict[str, str]] | None = None
    chat_template: str | None = None
    chat_template_kwargs: dict[str, Any] | None = None
    media_io_kwargs: dict[str, dict[str, Any]] | None = None
    mm_processor_kwargs: dict[str, Any] | None = None
    return_prompt_text: bool | None = None
