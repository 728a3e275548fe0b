"""The request of /v1/responses (vLLM 0.33; fields in the order in which vLLM declares and validates them)."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from mockvllm.wire.fields import RequestModel
from mockvllm.wire.generation_request import Int64, XArg
from mockvllm.wire.response_format import StructuredOutputsParams, check_structured_outputs
from mockvllm.wire.responses_openai import check_items, check_tools
from mockvllm.wire.responses_types import PromptCacheOptionsParam, Reasoning, ResponseTextConfig, ToolChoice
from mockvllm.wire.stop_strings import StopStrings

LOGPROBS = "message.output_text.logprobs"
Penalty = Annotated[float, Field(ge=-2.0, le=2.0)]


class ResponsesRequest(RequestModel):
    """Attributes are the fields; those that the client did not send have the values below."""

    after: ClassVar = {
        "input": check_items,
        "tools": check_tools,
        "structured_outputs": check_structured_outputs,
    }

    background: bool | None = False
    include: (
        list[
            Literal[
                "code_interpreter_call.outputs",
                "computer_call_output.output.image_url",
                "file_search_call.results",
                "message.input_image.image_url",
                "message.output_text.logprobs",
                "reasoning.encrypted_content",
            ]
        ]
        | None
    ) = None
    input: str | list[Any]
    instructions: str | None = None
    max_output_tokens: int | None = None
    max_tool_calls: int | None = None
    metadata: dict[str, str] | None = None
    model: str | None = None
    logit_bias: dict[str, float] | None = None
    parallel_tool_calls: bool | None = True
    previous_response_id: str | None = None
    prompt: None = None
    reasoning: Reasoning | None = None
    include_reasoning: bool = True
    service_tier: Literal["auto", "default", "flex", "scale", "priority"] = "auto"
    store: bool | None = True
    stream: bool | None = False
    temperature: float | None = None
    text: ResponseTextConfig | None = None
    tool_choice: ToolChoice = "auto"
    tools: list[Any] = ()  # type: ignore[assignment]  # a default nobody can change
    top_logprobs: int | None = 0
    top_p: float | None = None
    top_k: int | None = None
    min_p: float | None = None
    truncation: Literal["auto", "disabled"] | None = "disabled"
    user: str | None = None
    skip_special_tokens: bool | None = None
    spaces_between_special_tokens: bool = True
    include_stop_str_in_output: bool = False
    presence_penalty: Penalty | None = None
    frequency_penalty: Penalty | None = None
    prompt_cache_key: str | None = None
    prompt_cache_options: PromptCacheOptionsParam | None = None
    prompt_cache_retention: Literal["in_memory", "24h"] | None = None
    safety_identifier: str | None = None
    watermarking: bool | None = None
    request_id: str = ""
    session_id: str | None = None
    media_io_kwargs: dict[str, dict[str, Any]] | None = None
    mm_processor_kwargs: dict[str, Any] | None = None
    priority: Int64 = 0
    mm_payload: Literal["tensors", "none"] = "tensors"
    return_mm_kwargs: bool | None = None
    cache_salt: Annotated[str, Field(min_length=1, max_length=1024)] | None = None
    enable_response_messages: bool = False
    previous_input_messages: list[dict[str, Any]] | None = None
    structured_outputs: StructuredOutputsParams | None = None
    repetition_penalty: float | None = None
    seed: Int64 | None = None
    stop: StopStrings | None = None
    stop_token_ids: list[int] | None = None
    ignore_eos: bool = False
    vllm_xargs: dict[str, XArg | list[XArg]] | None = None
    kv_transfer_params: dict[str, Any] | None = None
    ec_transfer_params: dict[str, Any] | None = None
    chat_template_kwargs: dict[str, Any] | None = None

    @property
    def wants_logprobs(self) -> bool:
        return LOGPROBS in (self.include or ())
