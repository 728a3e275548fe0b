"""What vLLM's engine checks when it admits a request; in a stream these errors come after HTTP 200, as an event."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from mockvllm.wire.errors import invalid

MAX_LOGPROB_TOKEN_IDS = 128


@dataclass(frozen=True, slots=True)
class Limits:
    """What the model and the server's flags allow. `max_logprobs` -1: as many as the vocabulary has."""

    vocab_size: int
    max_logprobs: int = 20


def check_admission(values: Mapping[str, Any], limits: Limits, num_prompt_tokens: int) -> None:
    """`values`: a request's sampling parameters. Raises APIError for the first that the engine refuses."""
    _check_logprobs("sample logprobs", "logprobs", values.get("num_logprobs"), limits)
    _check_logprob_token_ids(values.get("logprob_token_ids") or (), limits.vocab_size)
    _check_logprobs("prompt logprobs", "prompt_logprobs", values.get("prompt_logprobs"), limits)
    _check_vocabulary("logit_bias", [int(key) for key in values.get("logit_bias") or ()], limits.vocab_size)
    _check_vocabulary("stop_token_ids", values.get("stop_token_ids") or (), limits.vocab_size)
    _check_allowed_token_ids(values.get("allowed_token_ids"), limits.vocab_size)
    if (values.get("thinking_token_budget") or -1) >= 0 or values.get("thinking_token_budget") == 0:
        raise invalid(
            "thinking_token_budget is set but reasoning_config is not configured. "
            "Please set --reasoning-parser and/or --reasoning-config to use thinking_token_budget."
        )
    if not num_prompt_tokens:
        raise invalid("The decoder prompt cannot be empty")


def _check_logprobs(what: str, parameter: str, wanted: int | None, limits: Limits) -> None:
    if wanted is None:
        return
    wanted = limits.vocab_size if wanted == -1 else wanted
    most = limits.vocab_size if limits.max_logprobs == -1 else limits.max_logprobs
    if wanted > most:
        message = f"Requested {what} of {wanted}, which is greater than max allowed: {most}"
        raise invalid(message, parameter, wanted)


def _check_logprob_token_ids(token_ids: Iterable[int], vocab_size: int) -> None:
    token_ids = list(token_ids)
    if len(token_ids) > MAX_LOGPROB_TOKEN_IDS:
        message = (
            f"Requested logprob_token_ids of length {len(token_ids)}, "
            f"which is greater than max allowed: {MAX_LOGPROB_TOKEN_IDS}"
        )
        raise invalid(message, "logprob_token_ids", len(token_ids))
    _check_vocabulary("logprob_token_ids", token_ids, vocab_size)


def _check_vocabulary(parameter: str, token_ids: Iterable[int], vocab_size: int) -> None:
    unknown = [token_id for token_id in token_ids if not 0 <= token_id < vocab_size]
    if unknown:
        message = f"token_id(s) {unknown} in {parameter} contain out-of-vocab token ids. Vocabulary size: {vocab_size}"
        raise invalid(message, parameter, unknown)


def _check_allowed_token_ids(token_ids: list[int] | None, vocab_size: int) -> None:
    if token_ids is None:
        return
    if not token_ids:
        raise invalid("allowed_token_ids is not None and empty!", "allowed_token_ids", token_ids)
    if not all(0 <= token_id < vocab_size for token_id in token_ids):
        raise invalid("allowed_token_ids contains out-of-vocab token id!", "allowed_token_ids", token_ids)
