"""The request of /v1/completions (vLLM 0.33; fields in the order in which vLLM declares and validates them)."""

from typing import Annotated, ClassVar

from pydantic import Field

from mockvllm.wire.generation_request import GenerationRequest

DEFAULT_MAX_TOKENS = 16
"""Also for an explicit null."""

TokenId = Annotated[int, Field(ge=0)]
PromptInput = list[TokenId] | list[list[TokenId]] | str | list[str]


class CompletionRequest(GenerationRequest):
    """Its fields stand among the common ones as vLLM declares them."""

    behind: ClassVar = {
        "model": ("prompt", "echo"),
        "stream_options": ("suffix",),
        "truncation_side": ("allowed_token_ids",),
        "bad_words": ("prompt_embeds", "add_special_tokens", "response_format"),
        "repetition_detection": ("thinking_token_budget",),
    }

    prompt: PromptInput | None = None
    max_tokens: int | None = DEFAULT_MAX_TOKENS
    n: int = 1
    suffix: str | None = None
    prompt_embeds: str | list[str] | None = None
    add_special_tokens: bool = True

    @property
    def wanted_tokens(self) -> int:
        return DEFAULT_MAX_TOKENS if self.max_tokens is None else self.max_tokens

    @property
    def is_only_echo(self) -> bool:
        """One token is said in vain, and the prompt alone is the answer."""
        return bool(self.echo) and self.max_tokens == 0
