"""Token counts as responses carry them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol


class EngineFacts(Protocol):
    """What the engine notes on its request. Times are seconds of the engine's clock, None before they happen."""

    finished_kv_transfer_params: Mapping[str, Any] | None
    queued_at: float | None
    scheduled_at: float | None
    first_token_at: float | None
    last_token_at: float | None

    @property
    def reported_cached_tokens(self) -> int: ...


@dataclass(frozen=True, slots=True)
class UsageRules:
    """Which details the server's flags add. `block_size`: tokens of a KV block; only full blocks are cached."""

    prompt_tokens_details: bool = False
    per_request_metrics: bool = False
    block_size: int = 16


def counts(num_prompt_tokens: int, num_completion_tokens: int) -> dict[str, Any]:
    return {
        "prompt_tokens": num_prompt_tokens,
        "total_tokens": num_prompt_tokens + num_completion_tokens,
        "completion_tokens": num_completion_tokens,
    }


def prompt_details(
    rules: UsageRules, num_prompt_tokens: int, facts: EngineFacts | None
) -> dict[str, int | None] | None:
    """Tokens found in the prefix cache and tokens written to it; None unless the server is told to say so."""
    if not rules.prompt_tokens_details or facts is None:
        return None
    cached = max(0, facts.reported_cached_tokens)
    full_blocks = num_prompt_tokens // rules.block_size * rules.block_size
    return {"cached_tokens": cached, "created_cache_tokens": max(0, full_blocks - cached)}


def cached_tokens(rules: UsageRules, facts: EngineFacts | None) -> dict[str, int | None] | None:
    """Tokens found in the prefix cache alone; None unless the server is told to say so."""
    if not rules.prompt_tokens_details or facts is None:
        return None
    return {"cached_tokens": max(0, facts.reported_cached_tokens), "created_cache_tokens": None}


def metrics(rules: UsageRules, num_tokens: int, facts: EngineFacts | None) -> Mapping[str, Any] | None:
    """The `metrics` object of `--enable-per-request-metrics`: milliseconds, and tokens per second."""
    if not rules.per_request_metrics or facts is None:
        return None
    queued, scheduled, first, last = facts.queued_at, facts.scheduled_at, facts.first_token_at, facts.last_token_at
    generation = _milliseconds(first, last)
    return {
        "time_to_first_token_ms": _milliseconds(scheduled, first),
        "generation_time_ms": generation,
        "queue_time_ms": _milliseconds(queued, scheduled),
        "mean_itl_ms": None if generation is None or num_tokens < 2 else generation / (num_tokens - 1),
        "tokens_per_second": _rate(num_tokens, scheduled, last),
    }


def _milliseconds(start: float | None, end: float | None) -> float | None:
    return None if start is None or end is None else (end - start) * 1e3


def _rate(num_tokens: int, start: float | None, end: float | None) -> float | None:
    return None if start is None or end is None or end <= start else num_tokens / (end - start)
