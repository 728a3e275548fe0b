"""The summary of a scenario's trace; keys are those of the recordings."""

from hashlib import sha256
from typing import Any

from mockvllm.engine import Engine, Request, SchedulerOutput

JSON = dict[str, Any]
HASH_PREFIX_EVERY = 500  # steps


class Summary:
    """Counts over the whole run, and a hash of who was scheduled with how many tokens, step by step."""

    def __init__(self) -> None:
        self.steps_total = 0
        self.tokens_scheduled = 0
        self.peak_running = 0
        self.peak_blocks_used = 0
        self._hash = sha256()
        self._hash_prefixes: list[tuple[int, str]] = []
        self._by_priority: dict[str, JSON] = {}
        self._steps_before_tick = 0

    def queued(self, request: Request) -> None:
        self._of_priority(request)["requests"] += 1

    def preempted(self, request: Request, num_computed_tokens: int) -> None:
        counts = self._of_priority(request)
        counts["preemptions"] += 1
        counts["recomputed_tokens"] += num_computed_tokens
        counts["preempted_requests"] += request.num_preemptions == 1

    def _of_priority(self, request: Request) -> JSON:
        zero = {"requests": 0, "preemptions": 0, "preempted_requests": 0, "recomputed_tokens": 0}
        return self._by_priority.setdefault(str(request.priority), zero)

    def batch(self, output: SchedulerOutput, engine: Engine) -> None:
        self.peak_blocks_used = max(
            self.peak_blocks_used, engine.kv_cache.pool.num_usable_blocks - engine.num_free_blocks
        )
        self.peak_running = max(self.peak_running, len(output.requests))
        if not output.requests:
            return
        self.steps_total += 1
        self.tokens_scheduled += output.total_num_scheduled_tokens
        scheduled = zip(output.requests, output.num_scheduled_tokens, strict=True)
        self._hash.update((";".join(f"{request.request_id}:{n}" for request, n in scheduled) + "\n").encode())
        if self.steps_total % HASH_PREFIX_EVERY == 0:
            self._hash_prefixes.append((self.steps_total, self._hash.hexdigest()[:16]))

    def scheduled_in_tick(self) -> bool:
        """Whether a batch with tokens was scheduled since the last call."""
        before, self._steps_before_tick = self._steps_before_tick, self.steps_total
        return self.steps_total > before

    def as_json(self, ticks: int, with_prefixes: bool) -> JSON:
        summary: JSON = {
            "steps_total": self.steps_total,
            "ticks": ticks,
            "tokens_scheduled": self.tokens_scheduled,
            "peak_running": self.peak_running,
            "peak_blocks_used": self.peak_blocks_used,
            "preemptions": sum(counts["preemptions"] for counts in self._by_priority.values()),
            "recomputed_tokens": sum(counts["recomputed_tokens"] for counts in self._by_priority.values()),
            "schedule_sha256": self._hash.hexdigest(),
            "by_priority": self._by_priority,
        }
        if with_prefixes:
            summary["schedule_sha256_prefix_every_500"] = self._hash_prefixes
        return summary
