"""The engine's steps, read off the tokens that clients saw.

All tokens of one step leave together, and a decoding request says one in every step. So the time between two steps that
the same request spoke in is the time of the later one, and who spoke says what it had to do. Prompts are taken to be
computed as vLLM does: first come first served, in what the decodes leave of the token budget, no part of them cached.
"""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from mockvllm.engine.measured import Point, StepFigures
from mockvllm.fitting.detailed import Timeline, median_gap

SAME_STEP = 0.25  # tokens closer than this share of the usual gap left together


@dataclass(slots=True)
class Step:
    """`times`: when its tokens came. `tokens`: the index of each request's; `prefill`: (tokens, KV tokens) by chunk."""

    times: list[float] = field(default_factory=list)
    tokens: dict[int, int] = field(default_factory=dict)
    prefill: list[tuple[int, int]] = field(default_factory=list)
    known: bool = True  # whether its part of every prompt is known

    @property
    def time(self) -> float:
        return statistics.median(self.times)

    @property
    def decodes(self) -> int:
        return sum(1 for index in self.tokens.values() if index)


def measured_steps(requests: Sequence[Timeline], max_num_batched_tokens: int) -> list[Point]:
    """What each step had to do, and how long it took; only steps of which both are sure."""
    steps = _steps(requests)
    _compute_prompts(requests, steps, max_num_batched_tokens)
    points = []
    for before, step in pairwise(steps):
        follows = any(before.tokens.get(request) == index - 1 for request, index in step.tokens.items() if index)
        if follows and step.known and step.time > before.time:  # two tokens of one read say nothing of time
            points.append(Point(_figures(requests, step), step.time - before.time))
    return points


def _steps(requests: Sequence[Timeline]) -> list[Step]:
    tolerance = SAME_STEP * median_gap(requests)
    said = [(time, number, i) for number, request in enumerate(requests) for i, time in enumerate(request.token_times)]
    steps: list[Step] = []
    for time, number, index in sorted(said):
        if not steps or number in steps[-1].tokens or time - steps[-1].times[0] > tolerance:
            steps.append(Step())
        steps[-1].times.append(time)
        steps[-1].tokens[number] = index
    return steps


def _compute_prompts(requests: Sequence[Timeline], steps: Sequence[Step], budget: int) -> None:
    """Give each prompt to the steps that computed it: the last is the one that said its first token."""
    left = [budget - step.decodes for step in steps]
    for last, step in enumerate(steps):
        new = sorted((requests[number].sent_at, number) for number, index in step.tokens.items() if not index)
        for _, number in new:
            _compute_prompt(requests[number].prompt_tokens, steps, left, last)


def _compute_prompt(length: int, steps: Sequence[Step], left: list[int], last: int) -> None:
    starts = _possible_starts(length, left, last)
    first = starts[0] if starts else last
    if len(starts) != 1:  # when it got its seat cannot be seen
        for step in steps[min(starts, default=last) : last + 1]:
            step.known = False
    computed = 0
    for position in range(first, last + 1):
        chunk = min(left[position], length - computed)
        if chunk > 0:
            computed += chunk
            left[position] -= chunk
            steps[position].prefill.append((chunk, computed))


def _possible_starts(length: int, left: Sequence[int], last: int) -> list[int]:
    """The steps, latest first, from which a prompt that takes all that is left of the budget ends in step `last`."""
    starts = []
    before = 0  # what is left from `first` up to the step before the last
    for first in range(last, -1, -1):
        if first < last:
            before += left[first]
        if before >= length:
            break
        if before + left[last] >= length and (first == last or left[first] > 0):
            starts.append(first)
    return starts


def _figures(requests: Sequence[Timeline], step: Step) -> StepFigures:
    """As `Linear` counts: a chunk of one token is a decode."""
    kv_tokens = sum(requests[number].prompt_tokens + index for number, index in step.tokens.items() if index)
    single = sum(1 for tokens, _ in step.prefill if tokens == 1)
    return StepFigures(
        prefill_tokens=sum(tokens for tokens, _ in step.prefill) - single,
        decode_seqs=step.decodes + single,
        kv_tokens=kv_tokens + sum(context for _, context in step.prefill),
    )
