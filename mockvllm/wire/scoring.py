"""Request and response of /generative_scoring (vLLM 0.30-0.33)."""

from collections.abc import Mapping, Sequence
from math import exp
from typing import Any

from pydantic import ConfigDict, ValidationError, create_model

from mockvllm.wire.encoder import Delta, Said
from mockvllm.wire.fields import RequestModel
from mockvllm.wire.generation_request import Int64
from mockvllm.wire.jsontext import compact
from mockvllm.wire.logprobs import Logprobs
from mockvllm.wire.response import Response
from mockvllm.wire.usage import counts
from mockvllm.wire.validation import pydantic_s_own


class GenerativeScoringRequest(RequestModel):
    """How likely is the first of `label_token_ids` after the query and each item?"""

    model: str | None = None
    query: str | list[int]
    items: list[str] | list[list[int]]
    label_token_ids: list[int]
    apply_softmax: bool = True
    item_first: bool = False
    add_special_tokens: bool = True
    cache_salt: str | None = None
    priority: Int64 = 0
    request_id: str = ""


def check_as_pydantic(body: Mapping[str, Any]) -> None:
    """Raises APIError with pydantic's own words, as vLLM 0.30 has them here."""
    fields = GenerativeScoringRequest.fields()
    declared: dict[str, Any] = {
        name: (field.annotation, getattr(GenerativeScoringRequest, name, ...)) for name, field in fields.items()
    }
    model = create_model(GenerativeScoringRequest.__name__, __config__=ConfigDict(extra="allow"), **declared)
    try:
        model(**body)
    except ValidationError as error:
        raise pydantic_s_own(error) from None


class ScoringResponse(Response):
    """`labels`: the tokens that are compared; the score is that of the first. `softmax`: over them, not over all."""

    labels: Sequence[int] = ()
    softmax = True
    candidates: Sequence[Logprobs] = ()

    def prompt_details(self) -> None:
        return None

    def body(self, choices: Sequence[Said]) -> bytes:
        """One item each."""
        scores = [self._score(index, said.delta) for index, said in enumerate(choices)]
        num_completion_tokens = sum(len(said.delta.token_ids) for said in choices)
        details = {"prompt_tokens_details": None, "completion_tokens_details": None}
        return compact(
            {
                "id": self.id,
                "object": "list",
                "created": self.created,
                "model": self.shape.model,
                "data": [{"index": index, "object": "score", "score": score} for index, score in enumerate(scores)],
                "usage": counts(self.num_prompt_tokens, num_completion_tokens) | details,
            }
        )

    def _score(self, index: int, delta: Delta) -> float:
        candidates = self.candidates[index].at(delta.start, delta.token_ids[0])
        known = {candidate.token_id: candidate.logprob for candidate in candidates}
        first = known[self.labels[0]]
        if not self.softmax:
            return exp(first)
        return 1 / sum(exp(known[label] - first) for label in dict.fromkeys(self.labels))
