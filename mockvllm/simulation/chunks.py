"""Chunked prefill: what a long prompt costs those who decode, by the token budget of a step."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Chunks:
    """`ttft_ms`: of the prompt that arrives; `worst_gap_ms`: the longest that the others wait for their next token."""

    budget: int
    prefill_steps: int
    ttft_ms: float
    worst_gap_ms: float


def chunks(budget: int, prompt: int, running: int, base_ms: float, per_token_ms: float) -> Chunks:
    """A prompt arrives while `running` requests decode. In a step decodes come first, a token each, and the prompt
    fills what is left of `budget`; the step takes `base_ms`, and `per_token_ms` for each prompt token.

    Raises ValueError if the decodes leave the prompt nothing.
    """
    room = budget - running
    if room < 1:
        raise ValueError(f"a budget of {budget} tokens leaves a prompt nothing beside {running} running requests")
    num_steps = -(-prompt // room)
    return Chunks(
        budget=budget,
        prefill_steps=num_steps,
        ttft_ms=num_steps * base_ms + per_token_ms * prompt,
        worst_gap_ms=base_ms + per_token_ms * min(prompt, room),
    )
