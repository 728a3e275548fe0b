"""Sampling parameters: a request's values, the server's defaults, and vLLM's checks of them in its order."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mockvllm.wire.errors import APIError, invalid

GREEDY_BELOW = 1e-5

DEFAULTS: Mapping[str, Any] = {
    "n": 1,
    "presence_penalty": 0.0,
    "frequency_penalty": 0.0,
    "repetition_penalty": 1.0,
    "temperature": 1.0,
    "top_p": 1.0,
    "top_k": 0,
    "min_p": 0.0,
    "min_tokens": 0,
    "skip_special_tokens": True,
}
"""What holds where neither the request nor the server's generation config says anything."""

SAMPLING_FIELDS = frozenset(
    (
        *DEFAULTS, "allowed_token_ids", "bad_words", "ignore_eos", "logit_bias", "logprob_token_ids", "prompt_logprobs",
        "length_penalty", "seed", "stop", "stop_token_ids", "thinking_token_budget", "use_beam_search", "vllm_xargs",
    )
)  # fmt: skip
"""The fields of a request that are sampling parameters, `max_tokens` aside."""


@dataclass
class RepetitionDetectionParams:
    """A sequence ends when its last tokens are `min_count` copies of one pattern of `min_..max_pattern_size` tokens."""

    max_pattern_size: int = 0
    min_pattern_size: int = 0
    min_count: int = 0


def check_repetition_detection(params: RepetitionDetectionParams | None) -> RepetitionDetectionParams | None:
    """`params`, if its sizes make sense."""
    if params is None:
        return None
    if params.min_pattern_size < 0 or params.max_pattern_size < params.min_pattern_size:
        raise invalid(
            "max_pattern_size, min_pattern_size must be >=0, with min_pattern_size <= max_pattern_size. "
            "Set both to 0 to disable repetitive pattern detection."
        )
    if params.max_pattern_size > 0 and params.min_count < 2:
        raise invalid(
            "min_count must be >= 2 to detect repetitive patterns in engine output. "
            "If you do not wish to detect repetitive patterns, set max_pattern_size to 0."
        )
    return params


Values = Mapping[str, Any]
Check = Callable[[Values], APIError | None]


def check_sampling(values: Values, checks: Sequence[Check]) -> None:
    """`values` as resolved (request, server, `DEFAULTS`), and `max_tokens` as it will be. Raises the first failure."""
    for check in checks:
        error = check(values)
        if error is not None:
            raise error


def _must(name: str, holds: Callable[[Any], bool], text: str, *, named: bool = False) -> Check:
    """A parameter's own condition; `named`: its error says which parameter it is about."""

    def check(values: Values) -> APIError | None:
        value = values[name]
        if holds(value):
            return None
        message = f"{name} must be {text}, got {value}."
        return invalid(message, name, value) if named else invalid(message)

    return check


def _logit_bias(values: Values) -> APIError | None:
    bad = [key for key in values.get("logit_bias") or () if not _is_int(key)]
    if not bad:
        return None
    message = f"logit_bias contains key(s) that cannot be converted to integer token IDs: {bad}"
    return invalid(message, "logit_bias", bad)


def _num_sequences(most: int) -> Check:
    """`most`: VLLM_MAX_N_SEQUENCES. A beam search calls it its width."""

    def check(values: Values) -> APIError | None:
        name, value = "beam_width" if values.get("use_beam_search") else "n", values["n"]
        if value < 1:
            return invalid(f"{name} must be at least 1, got {value}.")
        if value <= most:
            return None
        advice = "To increase this limit, set the VLLM_MAX_N_SEQUENCES environment variable."
        return invalid(f"{name} must be at most {most}, got {value}. {advice}")

    return check


def _extra_args(values: Values) -> APIError | None:
    if all(-(2**63) <= number < 2**64 for number in _integers((values.get("vllm_xargs") or {}).values())):
        return None
    return invalid("extra_args integers must be between -2**63 and 2**64 - 1.", "extra_args")


def _min_tokens(values: Values) -> APIError | None:
    least, most = values["min_tokens"], values["max_tokens"]
    return (
        invalid(f"min_tokens must be less than or equal to max_tokens={most}, got {least}.") if least > most else None
    )


def _stop(values: Values) -> APIError | None:
    stop = values.get("stop")
    strings = [stop] if isinstance(stop, str) else stop or ()
    return invalid("stop cannot contain an empty string.") if "" in strings else None


def _bad_words(values: Values) -> APIError | None:
    words = list(dict.fromkeys(values.get("bad_words") or ()))
    return invalid(f"bad_words cannot contain an empty string. Got bad_words={words}") if "" in words else None


def check_thinking_token_budget(value: object) -> int | None:
    """The field as it was sent; -1: no budget. Raises APIError for what is no number of tokens."""
    if value is None or value == -1:
        return None
    if type(value) is int and value >= 0:
        return value
    message = "`thinking_token_budget` must be a non-negative integer or -1 for unlimited."
    raise invalid(message, "thinking_token_budget", value)


def _greedy(values: Values) -> APIError | None:
    if values["temperature"] < GREEDY_BELOW and values["n"] > 1 and not values.get("use_beam_search"):
        return invalid(f"n must be 1 when using greedy sampling, got {values['n']}.")
    return None


def sampling_checks(max_n_sequences: int = 16384) -> Sequence[Check]:
    """In vLLM's order (SamplingParams, 0.30 to 0.33). `max_n_sequences`: VLLM_MAX_N_SEQUENCES."""
    return (_logit_bias, _num_sequences(max_n_sequences), *_CHECKS)


_CHECKS: Sequence[Check] = (
    _extra_args,
    _must("presence_penalty", lambda value: -2.0 <= value <= 2.0, "in [-2, 2]"),
    _must("frequency_penalty", lambda value: -2.0 <= value <= 2.0, "in [-2, 2]"),
    _must("repetition_penalty", math.isfinite, "a finite number"),
    _must("repetition_penalty", lambda value: value > 0.0, "greater than zero"),
    _must("temperature", math.isfinite, "a finite number", named=True),
    _must("temperature", lambda value: value >= 0.0, "non-negative", named=True),
    _must("temperature", lambda value: value <= 2.0, "in [0, 2]", named=True),
    _must("top_p", lambda value: 0.0 < value <= 1.0, "in (0, 1]", named=True),
    _must("top_k", lambda value: value >= -1, "0 (disable), or at least 1"),
    _must("min_p", lambda value: 0.0 <= value <= 1.0, "in [0, 1]"),
    _must("max_tokens", lambda value: value >= 1, "at least 1", named=True),
    _must("min_tokens", lambda value: value >= 0, "greater than or equal to 0"),
    _min_tokens,
    _stop,
    _bad_words,
    _greedy,
)


def _is_int(text: str) -> bool:
    try:
        int(text)
    except ValueError:
        return False
    return True


def _integers(values: Iterable[Any]) -> Iterator[int]:
    for value in values:
        yield from (item for item in (value if isinstance(value, list) else [value]) if isinstance(item, int))
