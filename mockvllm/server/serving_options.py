"""What the generation endpoints need to know of the server they belong to."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from mockvllm.answers.prompt import PlainRenderer, Renderer
from mockvllm.answers.tokenizer import Tokenizer
from mockvllm.profiles.wire import WireRules
from mockvllm.wire.features import check_model
from mockvllm.wire.stop_strings import MAX_STOP_STRINGS
from mockvllm.wire.usage import UsageRules

NO_USAGE_DETAILS = UsageRules()
PLAIN = PlainRenderer()


@dataclass(frozen=True, slots=True)
class ServingConfig:
    """What the server's flags settle; names are vLLM's.

    `default_sampling`: the generation config's values, `max_tokens` among them. `override_max_tokens` caps every
    request. `request_template`: makes a template that a request brings along. `chat_template`: the server's own (text).
    `has_reasoning_config`: thinking may have a budget even without a reasoning parser. `disabled_thinking_effort`: of
    /v1/messages. The last limits of requests are those of vLLM's environment.
    """

    model: str
    model_names: Sequence[str]
    wire: WireRules
    tokenizer: Tokenizer
    renderer: Renderer = PLAIN
    request_template: Callable[[str], Renderer] | None = None
    chat_template: str | None = None
    max_model_len: int = 8192
    max_logprobs: int = 20
    response_role: str = "assistant"
    default_sampling: Mapping[str, Any] = field(default_factory=dict)
    override_max_tokens: int | None = None
    default_chat_template_kwargs: Mapping[str, Any] = field(default_factory=dict)
    return_tokens_as_token_ids: bool = False
    enable_force_include_usage: bool = False
    stream_interval: int = 1
    trust_request_chat_template: bool = False
    trust_request_mm_kwargs: bool = False
    tool_call_parser: str | None = None
    tool_strict_level: Literal["auto", "function", "parameter"] | None = None
    exclude_tools_when_tool_choice_none: bool = False
    reasoning_parser: str = ""
    has_reasoning_config: bool = False
    disabled_thinking_effort: str = "auto"
    any_whitespace: bool = True
    data_parallel_size: int = 1
    transfers_kv: bool = False
    skip_model_name_validation: bool = False
    max_n_sequences: int = 16384
    max_completion_prompts: int = 1024
    max_stop_strings: int = MAX_STOP_STRINGS
    max_num_bad_words: int = 128
    usage: UsageRules = NO_USAGE_DETAILS
    system_fingerprint: str | None = None
    answer: str = "sentence"
    seed: int = 0
    directives: bool = True
    wall_clock: Callable[[], float] = time.time

    def check_model(self, model: str | None) -> None:
        """Raises APIError for a model that this server does not have."""
        if not self.skip_model_name_validation:
            check_model(model, self.model_names, self.wire)
