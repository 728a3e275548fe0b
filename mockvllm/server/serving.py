"""The one path of every endpoint that generates: from a request's bytes to engine requests and their answer."""

from collections.abc import Mapping, Sequence
from dataclasses import astuple
from typing import Any, ClassVar, Generic, Protocol

from mockvllm.answers.directives import Directive
from mockvllm.answers.masks import bad_word_tokens
from mockvllm.answers.output import NO_STOP, Output, StopRules
from mockvllm.answers.script import Script
from mockvllm.answers.tokenizer import cut
from mockvllm.engine import RepetitionDetection, Request
from mockvllm.server.asgi import lookup
from mockvllm.server.constraints import constraint_of, default_directive
from mockvllm.server.draft import RANK, Draft, Headers, Prompt, R, integer, priority, response_id
from mockvllm.server.scripting import Scripting
from mockvllm.server.serving_options import ServingConfig
from mockvllm.wire.admission import Limits, check_admission, check_bad_words, check_rank
from mockvllm.wire.answer import WHOLE, StreamAnswer, WholeAnswer
from mockvllm.wire.body import parse_body
from mockvllm.wire.context import Asked, Window
from mockvllm.wire.encoder import Encoder
from mockvllm.wire.errors import APIError, invalid
from mockvllm.wire.generation_request import GenerationRequest
from mockvllm.wire.prepared import Answer, Prepared
from mockvllm.wire.response_format import structured_outputs
from mockvllm.wire.sampling import DEFAULTS, SAMPLING_FIELDS, check_sampling, sampling_checks


class Response(Encoder, Protocol):
    num_prompt_tokens: int


class Serving(Generic[R]):
    """Made once a server; `prepare` once a request. An endpoint says how its requests are read and its answers look."""

    id_prefix: ClassVar[str]

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
        reasons = bool(config.reasoning_parser or config.has_reasoning_config)
        self._limits = Limits(tokenizer.vocab_size, config.max_logprobs, reasons, config.wire.max_schema_nesting)
        self._checks = sampling_checks(config.max_n_sequences)
        self._defaults = {**DEFAULTS, **{name: defaults[name] for name in DEFAULTS if name in defaults}}

    # --- what an endpoint adds --------------------------------------------------------------------------------------

    def parse(self, fields: Mapping[str, Any]) -> R:
        """The request that a body holds. Raises APIError for what is refused without looking at the server."""
        raise NotImplementedError

    def check(self, request: R) -> None:
        """Raises APIError for what this server does not serve: the model's name, features that are off."""
        raise NotImplementedError

    def asked(self, request: R) -> Asked:
        """What the request asks of the window."""
        raise NotImplementedError

    def render(self, request: R, ask: Asked) -> Sequence[Prompt]:
        """The request's prompts, tokenized. Raises APIError for those that do not fit."""
        raise NotImplementedError

    def add_logprobs(self, request: R, values: dict[str, Any]) -> None:
        """Which log-probabilities are wanted: `num_logprobs`, `prompt_logprobs`."""
        raise NotImplementedError

    def bind(self, request: R, prompt: Prompt) -> None:
        """What else binds the sampling parameters of a prompt (`prompt.values`)."""

    def unscripted(self, request: R, prompt: Prompt) -> Directive | None:
        """What to say when nobody says anything; None: the server's answer."""
        wanted = prompt.values.get("constraint")
        return None if wanted is None else default_directive(wanted, prompt.values["max_tokens"])

    def response(self, draft: Draft[R], choices: Sequence[Request]) -> Response:
        """The shapes of the answer. `choices`: none when the engine refuses the request."""
        raise NotImplementedError

    def engine_id(self, request_id: str, index: int) -> str:
        """The engine's name for a prompt of the request."""
        return request_id

    # --- the path ---------------------------------------------------------------------------------------------------

    def prepare(self, body: bytes, headers: Headers, now: float) -> Prepared[Request]:
        """`now`: the engine's clock, in seconds. Raises APIError for a request refused before anything is sent."""
        found = lookup(headers)
        fields = parse_body(body, found.get(b"content-type"))
        return self.serve(self.parse(fields), fields, found, now)

    def serve(
        self, request: R, fields: Mapping[str, Any], headers: Mapping[bytes, bytes], now: float
    ) -> Prepared[Request]:
        """The order of the steps is that of vLLM's checks."""
        self.check(request)
        if request.use_beam_search:
            request = request.for_beam_search()
        draft = self._draft(request, headers, now)
        for prompt in draft.prompts:
            failure = self.admission_failure(prompt, headers) or self._ban_words(prompt.values)
            if failure is not None:
                return self._refused(draft, failure)
        return self._accepted(draft, fields, headers)

    def _draft(self, request: R, headers: Mapping[bytes, bytes], now: float) -> Draft[R]:
        ask = self.asked(request)
        self.window.check_request(ask)
        prompts = self.render(request, ask)
        for prompt in prompts:
            prompt.values = values = self.sampling(request, self.window.max_tokens(ask, len(prompt.token_ids)))
            self.add_logprobs(request, values)
            self.bind(request, prompt)
        request_id = response_id(self.id_prefix, request.given.get("request_id"), headers)
        return Draft(request_id, request, now, priority(request, headers), prompts)

    def _refused(self, draft: Draft[R], failure: APIError) -> Prepared[Request]:
        if not draft.request.stream:
            raise failure
        answer = self.answer(draft.request, self.response(draft, ()), ())
        return Prepared(draft.request_id, True, (), answer, failure=failure, model=draft.request.model)

    def _accepted(
        self, draft: Draft[R], fields: Mapping[str, Any], headers: Mapping[bytes, bytes]
    ) -> Prepared[Request]:
        request = draft.request
        choices: list[Request] = []
        scripts: list[Script] = []
        for index, prompt in enumerate(draft.prompts):
            engine_id = self.engine_id(draft.request_id, index)
            directive = self.scripting.directive(prompt.user_text, fields, headers)
            if directive is None:
                directive = self.unscripted(request, prompt)
            said = self.scripting.scripts(engine_id, prompt, directive)
            choices += self._engine_requests(draft, prompt, engine_id, said)
            scripts += said
        response = self.response(draft, choices)
        answer = self.answer(request, response, self._outputs(request, scripts))
        origin = scripts[0].origin
        return Prepared(draft.request_id, bool(request.stream), choices, answer, origin, model=request.model)

    def answer(self, request: R, response: Response, outputs: Sequence[Output]) -> Answer:
        num_prompt_tokens, can_stop = response.num_prompt_tokens, bool(request.stop)
        if not request.stream:
            return WholeAnswer(response, outputs, num_prompt_tokens, can_stop=can_stop)
        interval = WHOLE if request.use_beam_search else max(self.config.stream_interval, request.stream_interval or 1)
        return StreamAnswer(response, outputs, num_prompt_tokens, can_stop=can_stop, interval=interval)

    # --- its steps --------------------------------------------------------------------------------------------------

    def tokenize(self, request: R, ask: Asked, prompt: str) -> Sequence[int]:
        """The prompt's tokens, if they fit the window, cut as the request says."""
        window = self.window
        window.check_text(ask, prompt)
        size = window.truncate_to(ask)
        special = request.add_special_tokens
        encoder = self.config.tokenizer
        try:
            if size is None:
                token_ids = encoder.encode(prompt, add_special_tokens=special, limit=window.input_budget(ask) + 1)
            else:
                side = request.truncation_side or "left"
                token_ids = encoder.encode_cut(prompt, size, side, add_special_tokens=special)
        except TypeError as error:  # a lone surrogate is no text to the tokenizers package
            raise invalid(str(error)) from None
        window.check_tokens(ask, len(token_ids))
        return token_ids

    def fit(self, request: R, ask: Asked, token_ids: Sequence[int]) -> Sequence[int]:
        """A prompt that is given as tokens, cut as the request says, if it fits the window."""
        size = self.window.truncate_to(ask)
        if size is not None:
            token_ids = cut(token_ids, size, request.truncation_side or "left")
        self.window.check_tokens(ask, len(token_ids))
        return token_ids

    def sampling(self, request: R, max_tokens: int) -> dict[str, Any]:
        """The request's sampling parameters over the server's, checked (SamplingParams)."""
        given = request.given
        values = {**self._defaults, "max_tokens": max_tokens}
        if "response_format" in given or "structured_outputs" in given:
            values["structured_outputs"] = structured_outputs(request.response_format, request.structured_outputs)
        if max_tokens < 1 or not SAMPLING_FIELDS.isdisjoint(given):
            values.update({name: given[name] for name in SAMPLING_FIELDS & given.keys() if given[name] is not None})
            check_sampling(values, self._checks)
        return values

    def admission_failure(self, prompt: Prompt, headers: Mapping[bytes, bytes]) -> APIError | None:
        """What the engine will say against a prompt, if anything."""
        try:
            check_admission(prompt.values, self._limits, len(prompt.token_ids))
            if "structured_outputs" in prompt.values:
                self._constrain(prompt.values)
            rank = integer(headers, RANK)
            if rank is not None:
                check_rank(rank, self.config.data_parallel_size)
        except APIError as error:
            return error
        return None

    def _constrain(self, values: dict[str, Any]) -> None:
        """Add the `constraint` that the structured outputs stand for. Raises APIError for what is no grammar."""
        params = values["structured_outputs"]
        if params is not None:
            wanted = constraint_of(params, any_whitespace=self.config.any_whitespace)
            values["constraint"] = wanted._replace(behind=values.get("reasoning_end", ""))

    def _ban_words(self, values: dict[str, Any]) -> APIError | None:
        """Add the tokens that `bad_words` are; what the engine says against them, which it does last."""
        words = dict.fromkeys(values.get("bad_words") or ())
        if not words:
            return None
        sequences = bad_word_tokens(words, self.config.tokenizer)
        try:
            values["bad_words_token_ids"] = check_bad_words(list(words), sequences, self.config.max_num_bad_words)
        except APIError as error:
            return error
        return None

    def _engine_requests(
        self, draft: Draft[R], prompt: Prompt, engine_id: str, scripts: Sequence[Script]
    ) -> list[Request]:
        """One for each script, that is for each of the `n` choices."""
        request, values = draft.request, prompt.values
        stop_token_ids = self._stop_token_ids(request)
        rule = request.repetition_detection
        detection = None if rule is None else RepetitionDetection(*astuple(rule))
        return [
            Request(
                engine_id if len(scripts) == 1 else f"{index}_{engine_id}",
                prompt.token_ids,
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
                kv_transfer_params=request.kv_transfer_params if self.config.transfers_kv else None,
                skip_reading_prefix_cache=values.get("prompt_logprobs") is not None,
            )
            for index, script in enumerate(scripts)
        ]

    def _outputs(self, request: R, scripts: Sequence[Script]) -> list[Output]:
        """The text of each choice, ending as the request says."""
        end_ids = self._end_ids
        if request.stop_token_ids or request.ignore_eos:
            eos = () if request.ignore_eos else (self.config.tokenizer.eos_token_id,)
            end_ids = frozenset((*eos, *self._stop_token_ids(request)))
        rules = _stop_rules(request)
        return [Output(script, rules, end_ids) for script in scripts]

    def _stop_token_ids(self, request: R) -> Sequence[int]:
        own: Sequence[int] = () if request.ignore_eos else self.config.tokenizer.extra_end_ids
        return (*request.stop_token_ids, *own) if request.stop_token_ids else own


def _stop_rules(request: GenerationRequest) -> StopRules:
    stop = request.stop
    if not stop and not request.include_stop_str_in_output:
        return NO_STOP
    strings = (stop,) if isinstance(stop, str) else tuple(stop or ())
    return StopRules(strings, request.include_stop_str_in_output, request.min_tokens)
