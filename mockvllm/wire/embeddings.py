"""The request of /v1/embeddings (vLLM 0.30-0.33): texts, tokens or conversations, and the form of their vectors."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from mockvllm.wire.chat_request import ChatCompletionToolsParam
from mockvllm.wire.checks import check_generation_prompt, run_checks
from mockvllm.wire.completion_request import PromptInput
from mockvllm.wire.errors import invalid
from mockvllm.wire.fields import RequestModel
from mockvllm.wire.generation_request import Int64
from mockvllm.wire.messages import ChatMessage
from mockvllm.wire.validation import bad_request


class EmbeddingRequest(RequestModel):
    """What both forms of the request share."""

    model: str | None = None
    user: str | None = None
    truncate_prompt_tokens: Annotated[int, Field(ge=-1, le=2**63 - 1)] | None = None
    truncation_side: Literal["left", "right"] | None = None
    padding: Literal["max_length", "do_not_pad"] | None = None
    request_id: str = ""
    priority: Int64 = 0
    mm_processor_kwargs: dict[str, Any] | None = None
    cache_salt: str | None = None
    encoding_format: Literal["float", "base64", "bytes", "bytes_only"] = "float"
    embed_dtype: Literal["float32", "float16", "bfloat16", "fp8_e4m3", "fp8_e5m2"] = "float32"
    endianness: Literal["native", "big", "little"] = "native"
    dimensions: Int64 | None = None
    use_activation: bool | None = None
    add_special_tokens: bool


class EmbeddingCompletionRequest(EmbeddingRequest):
    input: PromptInput
    add_special_tokens: bool = True


class EmbeddingChatRequest(EmbeddingRequest):
    messages: list[ChatMessage] | list[list[ChatMessage]]
    add_generation_prompt: bool = False
    continue_final_message: bool = False
    add_special_tokens: bool = False
    chat_template: str | None = None
    chat_template_kwargs: dict[str, Any] | None = None
    media_io_kwargs: dict[str, dict[str, Any]] | None = None
    tools: list[ChatCompletionToolsParam] | None = None


def parse_embedding(body: Mapping[str, Any]) -> EmbeddingCompletionRequest | EmbeddingChatRequest:
    """Whichever of both the body is. Raises APIError with what is wrong with it as the one and as the other."""
    if "normalize" in body:
        raise invalid("Parameter `normalize` was removed; use `use_activation` instead.", "normalize")
    fields = _conversation_as_input(body)
    wrong = list(EmbeddingCompletionRequest.failures(fields))
    if not wrong:
        return EmbeddingCompletionRequest.parse(fields)
    run_checks(fields, (("continue_final_message", check_generation_prompt),))
    wrong_too = list(EmbeddingChatRequest.failures(fields))
    if wrong_too:
        raise bad_request([*wrong, *wrong_too])
    return EmbeddingChatRequest.parse(fields)


def _conversation_as_input(body: Mapping[str, Any]) -> Mapping[str, Any]:
    given = body.get("input")
    if isinstance(given, list) and given and isinstance(given[0], dict) and "messages" not in body:
        return {**{name: value for name, value in body.items() if name != "input"}, "messages": given}
    return body
