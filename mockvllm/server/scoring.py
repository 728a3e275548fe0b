"""/generative_scoring: each item is a completion of one token, and what counts are the log-probabilities of some."""

from collections.abc import Mapping, Sequence
from typing import Any

from mockvllm.engine import Request
from mockvllm.server.draft import Draft, Prompt
from mockvllm.server.response_options import ResponseOptions
from mockvllm.server.serving import Response, Serving
from mockvllm.server.serving_options import ServingConfig
from mockvllm.wire.checks import check_cache_salt, run_checks
from mockvllm.wire.completion_events import CompletionShape
from mockvllm.wire.completion_request import CompletionRequest
from mockvllm.wire.context import Asked
from mockvllm.wire.errors import invalid
from mockvllm.wire.scoring import GenerativeScoringRequest, ScoringResponse, check_as_pydantic


class ScoringCompletion(CompletionRequest):
    """The completion that answers a scoring request."""

    scoring: GenerativeScoringRequest


class ScoringServing(Serving[ScoringCompletion]):
    id_prefix = "generative-scoring-"

    def __init__(self, config: ServingConfig) -> None:
        super().__init__(config)
        self._options = ResponseOptions(config, self.scripting)
        self._shape = CompletionShape(config.model_names[0], config.wire, config.usage, config.system_fingerprint)

    def parse(self, fields: Mapping[str, Any]) -> ScoringCompletion:
        run_checks(fields, (("cache_salt", check_cache_salt),))
        if not self.config.wire.scoring_schema_errors_listed:
            check_as_pydantic(fields)
        scoring = GenerativeScoringRequest.parse(fields)
        same = {
            name: scoring.given[name] for name in ("model", "cache_salt", "priority", "request_id") if name in fields
        }
        completion = ScoringCompletion.of({**same, "max_tokens": 1, "logprob_token_ids": scoring.label_token_ids})
        completion.scoring = scoring
        return completion

    def check(self, request: ScoringCompletion) -> None:
        self.config.check_model(request.model)
        labels, vocab_size = request.scoring.label_token_ids, self.config.tokenizer.vocab_size
        for label in labels:
            if not 0 <= label < vocab_size:
                problem = f"label_token_id {label} is out of vocabulary range [0, {vocab_size})."
                raise invalid(f"{problem} Please provide valid token IDs.")
        if not labels:
            raise invalid("label_token_ids must contain at least one token ID.")
        if not request.scoring.items:
            raise invalid("items must contain at least one item.")

    def asked(self, request: ScoringCompletion) -> Asked:
        return Asked("max_tokens", 1, None)

    def render(self, request: ScoringCompletion, ask: Asked) -> Sequence[Prompt]:
        """The query and an item; what leaves no room for a token is cut off behind."""
        scoring = request.scoring
        query = self._encode(scoring.query, special=scoring.add_special_tokens)
        prompts = []
        for item in scoring.items:
            pair = (query, self._encode(item, special=False))
            first, second = reversed(pair) if scoring.item_first else pair
            token_ids = [*first, *second][: self.config.max_model_len - 1]
            prompts.append(Prompt("", token_ids, ""))
        return prompts

    def add_logprobs(self, request: ScoringCompletion, values: dict[str, Any]) -> None:
        """As many as there are labels."""
        values["num_logprobs"] = len(request.scoring.label_token_ids)

    def response(self, draft: Draft[ScoringCompletion], choices: Sequence[Request]) -> Response:
        scoring = draft.request.scoring
        lengths = [len(prompt.token_ids) for prompt in draft.prompts]
        response = ScoringResponse(self._shape, draft.request_id, int(self.config.wall_clock()), lengths, choices)
        response.labels, response.softmax = scoring.label_token_ids, scoring.apply_softmax
        response.candidates = self._options.logprobs(draft.request, draft.prompts[0].values, len(choices)) or ()
        return response

    def engine_id(self, request_id: str, index: int) -> str:
        return f"{request_id}-{index}"

    def _encode(self, text: str | Sequence[int], *, special: bool) -> Sequence[int]:
        if not isinstance(text, str):
            return text
        try:
            return self.config.tokenizer.encode(text, add_special_tokens=special)
        except TypeError as error:  # a lone surrogate is no text to the tokenizers package
            raise invalid(str(error)) from None
