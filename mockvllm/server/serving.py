"""What the endpoints that generate share: sampling parameters, scripts, engine requests and their way to the wire."""

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass
from typing import Any

from mockvllm.answers.output import NO_STOP, Output, StopRules
from mockvllm.answers.script import Script
from mockvllm.engine import RepetitionDetection, Request
from mockvllm.server.scripting import Scripting
from mockvllm.server.serving_options import ServingConfig
from mockvllm.wire.admission import Limits, check_admission, check_rank
from mockvllm.wire.chat_request import ChatCompletionRequest
from mockvllm.wire.context import Asked, Window
from mockvllm.wire.errors import APIError, invalid, unknown_model
from mockvllm.wire.sampling import DEFAULTS, SAMPLING_FIELDS, check_sampling

PRIORITY = b"x-vllm-priority"
RANK = b"x-data-parallel-rank"
Headers = Iterable[tuple[bytes, bytes]]


@dataclass(slots=True)
class Draft:
    """A request on its way: what the checks and the tokenizer have made of it. `values`: its sampling parameters."""

    request_id: str
    request: ChatCompletionRequest
    arrival_time: float
    priority: int
    prompt: str
    prompt_token_ids: Sequence[int]
    values: dict[str, Any]


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
        self._end_ids = frozenset((tokenizer.eos_token_id, *tokenizer.extra_end_ids))
        self._limits = Limits(tokenizer.vocab_size, config.max_logprobs)
        self._defaults = {**DEFAULTS, **{name: defaults[name] for name in DEFAULTS if name in defaults}}

    def check_model(self, model: str | None) -> None:
        if model and model not in self.config.model_names:
            names = list(self.config.model_names)
            raise unknown_model(model, names, list_aliases=self.config.wire.valid_aliases_in_404)

    def tokenize(self, request: ChatCompletionRequest, ask: Asked, prompt: str) -> Sequence[int]:
        """The prompt's tokens, if they fit the window, cut as the request says."""
        window = self.window
        window.check_text(ask, prompt)
        size = window.truncate_to(ask)
        limit = window.input_budget(ask) + 1 if size is None else None
        special = request.add_special_tokens
        try:
            token_ids = self.config.tokenizer.encode(prompt, add_special_tokens=special, limit=limit)
        except TypeError as error:  # a lone surrogate is no text to the tokenizers package
            raise invalid(str(error)) from None
        if size is not None and len(token_ids) > size:
            token_ids = token_ids[:size] if request.truncation_side == "right" else token_ids[len(token_ids) - size :]
        window.check_tokens(ask, len(token_ids))
        return token_ids

    def sampling(self, request: ChatCompletionRequest, max_tokens: int) -> dict[str, Any]:
        """The request's sampling parameters over the server's, checked (SamplingParams)."""
        given = request.given
        values = {**self._defaults, "max_tokens": max_tokens}
        if max_tokens < 1 or not SAMPLING_FIELDS.isdisjoint(given):
            values.update({name: given[name] for name in SAMPLING_FIELDS & given.keys() if given[name] is not None})
            check_sampling(values)
        return values

    def admission_failure(self, draft: Draft, headers: Mapping[bytes, bytes]) -> APIError | None:
        """What the engine will say against the request, if anything."""
        try:
            check_admission(draft.values, self._limits, len(draft.prompt_token_ids))
            if RANK in headers:
                check_rank(_integer(headers, RANK), self.config.data_parallel_size)
        except APIError as error:
            return error
        return None

    def response_id(self, prefix: str, request_id: str, headers: Mapping[bytes, bytes]) -> str:
        """The id of the response: the client's (header before field), or a random one."""
        given = headers.get(b"x-request-id")
        return prefix + (given.decode("latin-1") if given else request_id or f"{random.getrandbits(64):016x}")

    def priority(self, request: ChatCompletionRequest, headers: Mapping[bytes, bytes]) -> int:
        """Lower is earlier; the header goes before the field."""
        return request.priority if PRIORITY not in headers else _integer(headers, PRIORITY)

    def engine_requests(self, draft: Draft, scripts: Sequence[Script]) -> list[Request]:
        """One for each script, that is for each of the `n` choices."""
        request, values, request_id = draft.request, draft.values, draft.request_id
        stop_token_ids = self._stop_token_ids(request)
        rule = request.repetition_detection
        detection = None if rule is None else RepetitionDetection(*astuple(rule))
        return [
            Request(
                request_id if len(scripts) == 1 else f"{index}_{request_id}",
                draft.prompt_token_ids,
                values["max_tokens"],
                script,
                draft.arrival_time,
                priority=draft.priority,
                eos_token_id=self.config.tokenizer.eos_token_id,
                stop_token_ids=stop_token_ids,
                ignore_eos=request.ignore_eos,
                min_tokens=request.min_tokens,
                repetition_detection=detection,
                cache_salt=request.cache_salt,
                skip_reading_prefix_cache=values.get("prompt_logprobs") is not None,
            )
            for index, script in enumerate(scripts)
        ]

    def outputs(self, request: ChatCompletionRequest, scripts: Sequence[Script]) -> list[Output]:
        """The text of each choice, ending as the request says."""
        end_ids = self._end_ids
        if request.stop_token_ids or request.ignore_eos:
            eos = () if request.ignore_eos else (self.config.tokenizer.eos_token_id,)
            end_ids = frozenset((*eos, *self._stop_token_ids(request)))
        rules = _stop_rules(request)
        return [Output(script, rules, end_ids) for script in scripts]

    def _stop_token_ids(self, request: ChatCompletionRequest) -> Sequence[int]:
        own = () if request.ignore_eos else self.config.tokenizer.extra_end_ids
        return (*(request.stop_token_ids or ()), *own)


def _integer(headers: Mapping[bytes, bytes], name: bytes) -> int:
    try:
        return int(headers[name].decode("latin-1"))
    except ValueError as error:
        raise invalid(str(error)) from None


def _stop_rules(request: ChatCompletionRequest) -> StopRules:
    stop = request.stop
    if not stop and not request.include_stop_str_in_output:
        return NO_STOP
    strings = (stop,) if isinstance(stop, str) else tuple(stop or ())
    return StopRules(strings, request.include_stop_str_in_output, request.min_tokens)
