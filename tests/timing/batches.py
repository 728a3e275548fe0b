"""Batches as the scheduler makes them, by hand."""

from collections.abc import Iterable

from load import Speech

from mockvllm.engine import Request, SchedulerOutput


def batch(sequences: Iterable[tuple[int, int]]) -> SchedulerOutput:
    """A batch of requests, each (tokens that the step computes, tokens it has once the step is done)."""
    output = SchedulerOutput(budget=1 << 30)
    for number, (scheduled, context) in enumerate(sequences):
        request = Request(f"r{number}", range(context), 10, Speech(), 0.0)
        request.num_computed_tokens = context
        output.add(request, scheduled, 1)
        output.total_num_scheduled_tokens += scheduled
    return output
