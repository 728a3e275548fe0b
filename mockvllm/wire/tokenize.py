"""Requests and responses of /tokenize and /detokenize (vLLM 0.30-0.33)."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar

from pydantic import Field

from mockvllm.wire.chat_request import ChatCompletionToolsParam
from mockvllm.wire.checks import check_generation_prompt, run_checks
from mockvllm.wire.fields import RequestModel
from mockvllm.wire.jsontext import compact
from mockvllm.wire.messages import ChatMessage, shape
from mockvllm.wire.validation import bad_request

TokenId = Annotated[int, Field(ge=0, le=2**63 - 1)]


class TokenizeCompletionRequest(RequestModel):
    model: str | None = None
    prompt: str
    add_special_tokens: bool = True
    return_token_strs: bool | None = False


class TokenizeChatRequest(RequestModel):
    shapes: ClassVar = {"messages": shape}

    model: str | None = None
    messages: list[ChatMessage]
    add_generation_prompt: bool = True
    return_token_strs: bool | None = False
    continue_final_message: bool = False
    add_special_tokens: bool = False
    chat_template: str | None = None
    chat_template_kwargs: dict[str, Any] | None = None
    media_io_kwargs: dict[str, dict[str, Any]] | None = None
    mm_processor_kwargs: dict[str, Any] | None = None
    tools: list[ChatCompletionToolsParam] | None = None


class DetokenizeRequest(RequestModel):
    model: str | None = None
    tokens: list[TokenId]


def parse_tokenize(body: Mapping[str, Any]) -> TokenizeCompletionRequest | TokenizeChatRequest:
    """Whichever of both the body is. Raises APIError with what is wrong with it as the one and as the other."""
    wrong = TokenizeCompletionRequest.failures(body)
    if not wrong:
        return TokenizeCompletionRequest.parse(body)
    run_checks(body, (("continue_final_message", check_generation_prompt),))
    wrong_too = TokenizeChatRequest.failures(body)
    if wrong_too:
        raise bad_request([*wrong, *wrong_too])
    return TokenizeChatRequest.parse(body)


def tokenize_body(token_ids: Sequence[int], max_model_len: int, token_strs: Sequence[str] | None) -> bytes:
    counted = {"count": len(token_ids), "max_model_len": max_model_len}
    return compact({**counted, "tokens": list(token_ids), "token_strs": token_strs})
