"""The request of /v1/chat/completions/batch: many conversations, answered by one choice each (vLLM 0.30-0.33)."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from mockvllm.wire.errors import invalid
from mockvllm.wire.fields import RequestModel
from mockvllm.wire.generation_request import Int64
from mockvllm.wire.messages import ChatMessage
from mockvllm.wire.response_format import StructuredOutputsParams
from mockvllm.wire.stop_strings import StopStrings


class BatchChatCompletionRequest(RequestModel):
    """What it does not name goes to each conversation's own request as it stands."""

    messages: Annotated[list[Annotated[list[ChatMessage], Field(min_length=1)]], Field(min_length=1)]
    model: str | None = None
    frequency_penalty: float | None = None
    logit_bias: dict[str, float] | None = None
    logprobs: bool | None = False
    top_logprobs: int | None = 0
    logprob_token_ids: list[int] | None = None
    max_tokens: int | None = None
    max_completion_tokens: int | None = None
    n: int | None = 1
    presence_penalty: float | None = None
    response_format: Any = None
    seed: Int64 | None = None
    stop: StopStrings | None = None
    temperature: float | None = None
    top_p: float | None = None
    user: str | None = None
    tool_choice: Literal["none"] | None = "none"
    include_reasoning: bool = True
    best_of: int | None = None
    use_beam_search: bool = False
    top_k: int | None = None
    min_p: float | None = None
    repetition_penalty: float | None = None
    watermarking: bool | None = None
    length_penalty: float | None = 1.0
    early_stopping: bool = False
    structured_outputs: StructuredOutputsParams | None = None
    request_id: str | None = None
    add_generation_prompt: bool = True
    continue_final_message: bool = False
    chat_template: str | None = None
    chat_template_kwargs: dict[str, Any] | None = None
    media_io_kwargs: dict[str, dict[str, Any]] | None = None
    mm_processor_kwargs: dict[str, Any] | None = None
    priority: Int64 = 0
    cache_salt: str | None = None
    include_stop_str_in_output: bool = False
    guided_decoding_backend: str | None = None
    echo: bool = False
    return_tokens_as_token_ids: bool | None = None
    return_token_ids: bool = False


def check_batch(body: Mapping[str, Any]) -> None:
    """Raises APIError for what a batch cannot do."""
    if body.get("use_beam_search"):
        message = "Batch chat completions do not support beam search. Please set `use_beam_search` to False."
        raise invalid(message, "use_beam_search")
    n = body.get("n")
    if n is not None and n != 1:
        raise invalid("Batch chat completions do not support `n > 1`. Please set `n` to 1.", "n", n)
