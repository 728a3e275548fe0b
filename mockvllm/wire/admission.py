"""What vLLM's engine checks when it admits a request; in a stream these errors come after HTTP 200, as an event."""

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from mockvllm.wire.errors import APIError, invalid
from mockvllm.wire.response_format import StructuredOutputsParams

MAX_LOGPROB_TOKEN_IDS = 128
_WATCHED = frozenset(
    (
        "allowed_token_ids", "logit_bias", "logprob_token_ids", "num_logprobs", "prompt_logprobs", "stop_token_ids",
        "structured_outputs", "thinking_token_budget", "use_beam_search",
    )
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Limits:
    """What the model, the server's flags and the release allow.

    `max_logprobs` -1: as many as the vocabulary has. `reasons`: thinking may have a budget. `max_schema_nesting`: how
    deep the objects and arrays of a JSON schema may nest, 0: as they will.
    """

    vocab_size: int
    max_logprobs: int = 20
    reasons: bool = False
    max_schema_nesting: int = 0


def check_admission(values: Mapping[str, Any], limits: Limits, num_prompt_tokens: int) -> None:
    """`values`: a request's sampling parameters. Raises APIError for the first that the engine refuses."""
    if not _WATCHED.isdisjoint(values):
        _check_values(values, limits)
    if not num_prompt_tokens:
        raise invalid("The decoder prompt cannot be empty")


def check_token_ids(token_ids: Sequence[int], vocab_size: int) -> APIError | None:
    """What the engine says of a prompt's tokens that the client chose."""
    highest = max(token_ids, default=0)
    return invalid(f"Token id {highest} is out of vocabulary") if highest >= vocab_size else None


def check_bad_words(words: list[str], sequences: Iterable[Sequence[int]], most: int) -> list[Sequence[int]]:
    """`sequences`: the tokens of `words`, of which there may be `most`. Raises APIError for more, and for no tokens."""
    known: list[Sequence[int]] = []
    for sequence in sequences:
        if not sequence:
            raise invalid("bad_words entries must tokenize to at least one token.", "bad_words", words)
        known.append(sequence)
        if len(known) > most:
            message = f"Too many bad words after tokenization: {len(known)}. The max number is {most}."
            raise invalid(message, "bad_words", words)
    return known


def check_rank(rank: int, data_parallel_size: int) -> None:
    """`rank`: the engine that the request names. Raises APIError if there is none such."""
    if not 0 <= rank < data_parallel_size:
        raise invalid(f"data_parallel_rank {rank} is out of range [0, {data_parallel_size}).")


def _check_values(values: Mapping[str, Any], limits: Limits) -> None:
    vocab_size = limits.vocab_size
    sampled = 2 * values["n"] if values.get("use_beam_search") else values.get("num_logprobs")
    _check_logprobs("sample logprobs", "logprobs", sampled, limits)
    _check_logprob_token_ids(values.get("logprob_token_ids") or (), vocab_size)
    _check_logprobs("prompt logprobs", "prompt_logprobs", values.get("prompt_logprobs"), limits)
    _check_vocabulary("logit_bias", map(int, values.get("logit_bias") or ()), vocab_size)
    _check_vocabulary("stop_token_ids", dict.fromkeys(values.get("stop_token_ids") or ()), vocab_size)
    _check_allowed_token_ids(values.get("allowed_token_ids"), vocab_size)
    _check_structured_outputs(values.get("structured_outputs"), limits.max_schema_nesting)
    if not limits.reasons:
        _check_thinking_token_budget(values.get("thinking_token_budget"))


def _check_logprobs(what: str, parameter: str, wanted: int | None, limits: Limits) -> None:
    if wanted is None:
        return
    wanted = limits.vocab_size if wanted == -1 else wanted
    most = limits.vocab_size if limits.max_logprobs == -1 else limits.max_logprobs
    if wanted > most:
        message = f"Requested {what} of {wanted}, which is greater than max allowed: {most}"
        raise invalid(message, parameter, wanted)


def _check_logprob_token_ids(token_ids: Iterable[int], vocab_size: int) -> None:
    count = len(list(token_ids))
    if count > MAX_LOGPROB_TOKEN_IDS:
        most = f"which is greater than max allowed: {MAX_LOGPROB_TOKEN_IDS}"
        raise invalid(f"Requested logprob_token_ids of length {count}, {most}", "logprob_token_ids", count)
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


def _check_structured_outputs(params: StructuredOutputsParams | None, max_nesting: int) -> None:
    if params is None:
        return
    if params.choice == []:
        raise invalid("Choice '[]' cannot be an empty list")
    for kind in ("json", "grammar", "structural_tag"):
        if getattr(params, kind) == "":
            raise invalid(f"structured_outputs.{kind} cannot be an empty string")
    if params.json_object is False:
        problem = "structured_outputs.json_object must be True if set"
        raise invalid(f"{problem}; omit structured_outputs to disable structured outputs")
    if params.regex is not None and "\0" in params.regex:
        raise invalid("structured_outputs.regex must not contain a NUL character ('\\x00')")
    if max_nesting and params.json is not None and nesting(_parsed(params.json)) > max_nesting:
        levels = f"objects and arrays may nest at most {max_nesting} levels"
        raise invalid(f"The JSON schema is nested too deeply: {levels}")


def _parsed(schema: str | dict[str, Any]) -> object:
    """What is no JSON is refused where grammars are made."""
    with suppress(ValueError):
        return json.loads(schema) if isinstance(schema, str) else schema
    return None


def nesting(value: object) -> int:
    """How many objects and arrays stand in each other, at the deepest place."""
    level: list[object] = [value]
    depth = 0
    while level := [inner for inner in level if isinstance(inner, dict | list)]:
        level = [inner for outer in level for inner in (outer.values() if isinstance(outer, dict) else outer)]
        depth += 1
    return depth


def _check_thinking_token_budget(budget: int | None) -> None:
    if budget is not None and budget >= 0:
        raise invalid(
            "thinking_token_budget is set but reasoning_config is not configured. "
            "Please set --reasoning-parser and/or --reasoning-config to use thinking_token_budget."
        )
