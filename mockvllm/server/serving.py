"""What the endpoints that generate share: sampling parameters, scripts, engine requests and their way to the wire."""

import random
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, field
from typing import Any

from mockvllm.answers.output import NO_STOP, Output, StopRules
from mockvllm.answers.script import Script
from mockvllm.answers.tokenizer import Tokenizer
from mockvllm.engine import RepetitionDetection, Request
from mockvllm.profiles.wire import WireRules
from mockvllm.server.scripting import Scripting
from mockvllm.wire.admission import Limits, check_admission
from mockvllm.wire.chat_request import ChatCompletionRequest
from mockvllm.wire.context import Window
from mockvllm.wire.errors import APIError, unknown_model
from mockvllm.wire.sampling import DEFAULTS, SAMPLING_FIELDS, check_sampling
from mockvllm.wire.usage import UsageRules

Headers = Iterable[tuple[bytes, bytes]]


@dataclass(frozen=True, slots=True)
class ServingConfig:
    """What the server's flags settle; names are vLLM's.

    `default_sampling`: the generation config's values, `max_tokens` among them. `override_max_tokens` caps every
    request.
    """

    model_names: Sequence[str]
    wire: WireRules
    tokenizer: Tokenizer
    max_model_len: int = 8192
    max_logprobs: int = 20
    response_role: str = "assistant"
    default_sampling: Mapping[str, Any] = field(default_factory=dict)
    override_max_tokens: int | None = None
    return_tokens_as_token_ids: bool = False
    enable_force_include_usage: bool = False
    stream_interval: int = 1
    trust_request_chat_template: bool = False
    trust_request_mm_kwargs: bool = False
    enable_auto_tool_choice: bool = False
    tool_call_parser: str | None = None
    usage: UsageRules = UsageRules()  # noqa: RUF009 - immutable
    system_fingerprint: str | None = None
    answer: str = "sentence"
    seed: int = 0
    directives: bool = True
    wall_clock: Callable[[], float] = time.time


class Serving:
    """The part of a generation endpoint that does not depend on its shape on the wire."""

    def __init__(self, config: ServingConfig) -> None:
        self.config = config
        tokenizer = config.tokenizer
        defaults = config.default_sampling
        self.scripting = Scripting(tokenizer, config.answer, config.seed, config.directives)
        self.window = Window(
            config.max_model_len,
            tokenizer.max_chars_per_token,
            config.wire.reserves_output,
            defaults.get("max_tokens"),
            config.override_max_tokens,
        )
        self._limits = Limits(tokenizer.vocab_size, config.max_logprobs)
        self._defaults = {**DEFAULTS, **{name: defaults[name] for name in DEFAULTS if name in defaults}}

    def check_model(self, model: str | None) -> None:
        if model and model not in self.config.model_names:
            names = list(self.config.model_names)
            raise unknown_model(model, names, list_aliases=self.config.wire.valid_aliases_in_404)

    def sampling(self, request: ChatCompletionRequest, max_tokens: int) -> dict[str, Any]:
        """The request's sampling parameters over the server's, checked (SamplingParams)."""
        given = request.given
        values = {**self._defaults, "max_tokens": max_tokens}
        if max_tokens < 1 or not SAMPLING_FIELDS.isdisjoint(given):
            values.update({name: given[name] for name in SAMPLING_FIELDS & given.keys() if given[name] is not None})
            check_sampling(values)
        return values

    def admission_failure(self, values: Mapping[str, Any], num_prompt_tokens: int) -> APIError | None:
        """What the engine will say against the request, if anything."""
        try:
            check_admission(values, self._limits, num_prompt_tokens)
        except APIError as error:
            return error
        return None

    def response_id(self, prefix: str, request_id: str, headers: Mapping[bytes, bytes]) -> str:
        """The id of the response: the client's (header before field), or a random one."""
        given = headers.get(b"x-request-id")
        return prefix + (given.decode("latin-1") if given else request_id or f"{random.getrandbits(64):016x}")

    def choices(
        self,
        request_id: str,
        request: ChatCompletionRequest,
        values: Mapping[str, Any],
        prompt_token_ids: Sequence[int],
        scripts: Sequence[Script],
        now: float,
        priority: int,
    ) -> list[Request]:
        """One engine request for each script."""
        tokenizer = self.config.tokenizer
        end_ids = () if request.ignore_eos else tokenizer.extra_end_ids
        stop_token_ids = (*(request.stop_token_ids or ()), *end_ids)
        rule = request.repetition_detection
        detection = None if rule is None else RepetitionDetection(*astuple(rule))
        return [
            Request(
                request_id if len(scripts) == 1 else f"{index}_{request_id}",
                prompt_token_ids,
                values["max_tokens"],
                script,
                now,
                priority=priority,
                eos_token_id=tokenizer.eos_token_id,
                stop_token_ids=stop_token_ids,
                ignore_eos=request.ignore_eos,
                min_tokens=request.min_tokens,
                repetition_detection=detection,
                cache_salt=request.cache_salt,
                skip_reading_prefix_cache=values.get("prompt_logprobs") is not None,
            )
            for index, script in enumerate(scripts)
        ]

    def outputs(
        self, request: ChatCompletionRequest, choices: Sequence[Request], scripts: Sequence[Script]
    ) -> list[Output]:
        """The text of each choice, ending as the request says."""
        eos = () if request.ignore_eos else (self.config.tokenizer.eos_token_id,)
        end_ids = frozenset((*eos, *choices[0].stop_token_ids))
        rules = stop_rules(request)
        return [Output(script, rules, end_ids) for script in scripts]


def stop_rules(request: ChatCompletionRequest) -> StopRules:
    stop = request.stop
    if not stop and not request.include_stop_str_in_output:
        return NO_STOP
    strings = (stop,) if isinstance(stop, str) else tuple(stop or ())
    return StopRules(strings, request.include_stop_str_in_output, request.min_tokens)
