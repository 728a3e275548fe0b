"""The fields that requests for tokens share (vLLM 0.33), in the order in which chat completions declare them."""

from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BeforeValidator, Field

from mockvllm.wire.fields import RequestModel, RequestObject
from mockvllm.wire.response_format import AnyResponseFormat, StructuredOutputsParams, check_structured_outputs
from mockvllm.wire.sampling import (
    SAMPLING_FIELDS,
    RepetitionDetectionParams,
    check_repetition_detection,
    check_thinking_token_budget,
)
from mockvllm.wire.stop_strings import StopStrings

Int64 = Annotated[int, Field(ge=-(2**63), le=2**63 - 1)]
ThinkingTokenBudget = Annotated[int | None, BeforeValidator(check_thinking_token_budget)]
XArg = str | int | float


class StreamOptions(RequestObject):
    include_usage: bool | None = False
    continuous_usage_stats: bool | None = False


class GenerationRequest(RequestModel):
    """Attributes are the fields; those that the client did not send have the values below.

    An endpoint adds its own fields and says where they stand (`behind`).
    """

    after: ClassVar = {
        "structured_outputs": check_structured_outputs,
        "repetition_detection": check_repetition_detection,
    }

    model: str | None = None
    frequency_penalty: float | None = None
    logit_bias: dict[str, float] | None = None
    logprobs: int | None = None
    max_tokens: int | None = None
    n: int | None = 1
    presence_penalty: float | None = None
    response_format: AnyResponseFormat | None = None
    seed: Int64 | None = None
    stop: StopStrings | None = None
    stream: bool | None = False
    stream_options: StreamOptions | None = None
    temperature: float | None = None
    top_p: float | None = None
    thinking_token_budget: ThinkingTokenBudget = None
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
    echo: bool | None = False
    add_special_tokens: bool = False
    structured_outputs: StructuredOutputsParams | None = None
    priority: Int64 = 0
    request_id: str = ""
    session_id: str | None = None
    return_tokens_as_token_ids: bool | None = None
    return_token_ids: bool | None = None
    return_weight_versions: bool = False
    routed_experts_prompt_start: Annotated[int, Field(ge=0)] = 0
    return_token_offsets: bool | None = False
    mm_payload: Literal["tensors", "none"] = "tensors"
    return_mm_kwargs: bool | None = None
    cache_salt: Annotated[str, Field(min_length=1, max_length=1024)] | None = None
    kv_transfer_params: dict[str, Any] | None = None
    ec_transfer_params: dict[str, Any] | None = None
    vllm_xargs: dict[str, XArg | list[XArg]] | None = None
    repetition_detection: RepetitionDetectionParams | None = None
    stream_interval: Annotated[int, Field(ge=1)] | None = None

    def for_beam_search(self) -> Self:
        """The request without the sampling parameters that a beam search does not know: as if they were not sent."""
        return self.of({name: value for name, value in self.given.items() if name not in _UNKNOWN_TO_BEAM_SEARCH})


_UNKNOWN_TO_BEAM_SEARCH = SAMPLING_FIELDS - {
    "ignore_eos", "length_penalty", "n", "skip_special_tokens", "temperature", "use_beam_search",
} | {"prompt_logprobs", "repetition_detection", "response_format", "structured_outputs"}  # fmt: skip
