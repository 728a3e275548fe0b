"""The request of /v1/chat/completions (vLLM 0.33; fields in the order in which vLLM declares and validates them)."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from mockvllm.wire.fields import RequestModel, RequestObject
from mockvllm.wire.messages import ChatMessage, are_plain, check_tool_calls
from mockvllm.wire.response_format import AnyResponseFormat, StructuredOutputsParams, check_structured_outputs
from mockvllm.wire.sampling import RepetitionDetectionParams, check_repetition_detection

Int64 = Annotated[int, Field(ge=-(2**63), le=2**63 - 1)]


class StreamOptions(RequestObject):
    include_usage: bool | None = False
    continuous_usage_stats: bool | None = False


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


XArg = str | int | float


class ChatCompletionRequest(RequestModel):
    """Attributes are the fields; those that the client did not send have the values below."""

    proofs: ClassVar = {"messages": are_plain}
    before: ClassVar = {"messages": check_tool_calls}
    after: ClassVar = {
        "structured_outputs": check_structured_outputs,
        "repetition_detection": check_repetition_detection,
    }

    messages: list[ChatMessage]
    model: str | None = None
    frequency_penalty: float | None = None
    logit_bias: dict[str, float] | None = None
    logprobs: bool | None = False
    top_logprobs: int | None = 0
    max_tokens: int | None = None
    max_completion_tokens: int | None = None
    n: int | None = 1
    presence_penalty: float | None = None
    response_format: AnyResponseFormat | None = None
    seed: Int64 | None = None
    stop: str | Annotated[list[str], Field(max_length=4)] | None = None
    stream: bool | None = False
    stream_options: StreamOptions | None = None
    temperature: float | None = None
    top_p: float | None = None
    tools: list[ChatCompletionToolsParam] | None = None
    tool_choice: Literal["none"] | Literal["auto"] | Literal["required"] | ChatCompletionNamedToolChoiceParam | None = (
        "none"
    )
    reasoning_effort: Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"] | None = None
    thinking_token_budget: int | None = None
    include_reasoning: bool = True
    parallel_tool_calls: bool | None = True
    user: str | None = None
    use_beam_search: bool = False
    top_k: int | None = None
    min_p: float | None = None
    repetition_penalty: float | None = None
    watermarking: bool | None = None
    length_penalty: float = 1.0
    stop_token_ids: list[int] | None = None
    include_stop_str_in_output: bool = False
    ignore_eos: bool = False
    min_tokens: int = 0
    skip_special_tokens: bool | None = None
    spaces_between_special_tokens: bool = True
    truncate_prompt_tokens: Annotated[int, Field(ge=-1, le=2**63 - 1)] | None = None
    truncation_side: Literal["left", "right"] | None = None
    prompt_logprobs: int | None = None
    logprob_token_ids: list[int] | None = None
    allowed_token_ids: list[int] | None = None
    bad_words: list[str] = ()  # type: ignore[assignment]  # a default nobody can change
    echo: bool = False
    add_generation_prompt: bool = True
    continue_final_message: bool = False
    add_special_tokens: bool = False
    documents: list[dict[str, str]] | None = None
    chat_template: str | None = None
    chat_template_kwargs: dict[str, Any] | None = None
    media_io_kwargs: dict[str, dict[str, Any]] | None = None
    mm_processor_kwargs: dict[str, Any] | None = None
    structured_outputs: StructuredOutputsParams | None = None
    priority: Int64 = 0
    request_id: str = ""
    session_id: str | None = None
    return_tokens_as_token_ids: bool | None = None
    return_token_ids: bool | None = None
    return_weight_versions: bool = False
    routed_experts_prompt_start: Annotated[int, Field(ge=0)] = 0
    return_token_offsets: bool | None = False
    return_prompt_text: bool | None = None
    mm_payload: Literal["tensors", "none"] = "tensors"
    return_mm_kwargs: bool | None = None
    cache_salt: Annotated[str, Field(min_length=1, max_length=1024)] | None = None
    kv_transfer_params: dict[str, Any] | None = None
    ec_transfer_params: dict[str, Any] | None = None
    vllm_xargs: dict[str, XArg | list[XArg]] | None = None
    repetition_detection: RepetitionDetectionParams | None = None
    stream_interval: Annotated[int, Field(ge=1)] | None = None
