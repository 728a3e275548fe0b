"""What a simulation remembers: the state after every update, and when each request got its tokens.

Most tokens come in step, one in each update, so that a run of them is the number of its first update and of its last.
"""

from array import array
from collections import Counter
from collections.abc import Sequence

from mockvllm.engine import EngineListener, Request, RequestOutput, SchedulerOutput, SchedulerStats

NEVER = -2  # the number of an update that no update follows
NANOSECOND = 9  # decimals


class Recorder(EngineListener):
    """A request's `owner` is its number.

    By update: `times` (seconds), `running` and `waiting` (requests), `usage` (share of the KV blocks that is held).
    By run: `run_begins` and `run_ends`, its first update and its last.
    By request: `queued_at`, `scheduled_at`, `first_token_at`, `last_token_at` (seconds), `output_lens`,
    `num_preemptions`, `recomputed_tokens` (computed, and thrown away by preemptions).
    `pauses`: when a request lost its seat and when it got one again, in turn.
    `gaps`: how often so many seconds, to the nanosecond, passed from one run of a request's tokens to the next.
    `runs`, if they are kept: by request, the first and the last update of each run, in turn.
    """

    def __init__(self, num_requests: int, keep_runs: bool = False) -> None:
        self.times: list[float] = []
        self.usage: list[float] = []
        self.running: list[int] = []
        self.waiting: list[int] = []
        self.run_begins: list[int] = []
        self.run_ends: list[int] = []
        self.queued_at, self.scheduled_at, self.first_token_at, self.last_token_at = (
            [0.0] * num_requests for _ in range(4)
        )
        self.output_lens, self.num_preemptions, self.recomputed_tokens = ([0] * num_requests for _ in range(3))
        self.pauses: dict[int, list[float]] = {}
        self.gaps: Counter[float] = Counter()
        self.runs: list[array[int]] | None = [array("q") for _ in range(num_requests)] if keep_runs else None
        self.num_steps = 0
        self.peak_running = 0
        self.num_queried_tokens = 0
        self.num_hit_tokens = 0
        self._first_update, self._last_update = ([NEVER] * num_requests for _ in range(2))

    def scheduled(self, request: Request, num_hit_tokens: int, now: float) -> None:
        if request.num_preemptions:
            self.pauses[request.owner].append(now)

    def preempted(self, request: Request, num_computed_tokens: int, num_blocks: int, now: float) -> None:
        number = request.owner
        self.pauses.setdefault(number, []).append(now)
        self.num_preemptions[number] += 1
        self.recomputed_tokens[number] += num_computed_tokens

    def batch(self, output: SchedulerOutput, now: float) -> None:
        num_seqs = output.num_seqs
        if num_seqs:
            self.num_steps += 1
            if num_seqs > self.peak_running:
                self.peak_running = num_seqs

    def step(self, results: Sequence[RequestOutput], stats: SchedulerStats, now: float) -> None:
        update = len(self.times)
        self.times.append(now)
        self.usage.append(stats.kv_cache_usage)
        self.running.append(stats.num_running_reqs)
        self.waiting.append(stats.num_waiting_reqs)
        last_update, output_lens = self._last_update, self.output_lens
        for result in results:
            request = result.request
            number = request.owner
            num_tokens = request.num_tokens - request.num_prompt_tokens
            before = last_update[number] + num_tokens - result.num_new_tokens - output_lens[number]  # some in lockstep
            output_lens[number] = num_tokens
            if before != update - 1:
                self._begin_run(number, before, update)
            last_update[number] = update
            if result.finish_reason is not None:
                self._end_run(number, update)
                self._end(request, number)

    def _end(self, request: Request, number: int) -> None:
        self.queued_at[number] = request.queued_at or 0.0
        self.scheduled_at[number] = request.scheduled_at or 0.0
        self.first_token_at[number] = request.first_token_at or 0.0
        self.last_token_at[number] = request.last_token_at or 0.0
        self.num_queried_tokens += request.num_prompt_tokens
        self.num_hit_tokens += request.num_cached_tokens

    def leapt(self, stats: SchedulerStats, times: Sequence[float], usages: Sequence[float]) -> None:
        self.times.extend(times)
        self.usage.extend(usages)
        self.running.extend([stats.num_running_reqs] * len(times))
        self.waiting.extend([stats.num_waiting_reqs] * len(times))
        self.num_steps += len(times)

    def _begin_run(self, number: int, before: int, update: int) -> None:
        if before != NEVER:
            self.gaps[round(self.times[update] - self.times[before], NANOSECOND)] += 1
            self._end_run(number, before)
        self._first_update[number] = update

    def _end_run(self, number: int, last: int) -> None:
        first = self._first_update[number]
        self.run_begins.append(first)
        self.run_ends.append(last)
        if self.runs is not None:
            self.runs[number].extend((first, last))
