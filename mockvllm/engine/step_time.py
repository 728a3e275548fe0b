"""How long a step takes. Times are seconds."""

from dataclasses import dataclass, field
from typing import Protocol

from mockvllm.engine.output import SchedulerOutput
from mockvllm.engine.request import Pacing


class StepTime(Protocol):
    """Asked once a batch, right after it was scheduled. Reads the figures of a batch, never its lists: those leave out
    who decodes in lockstep."""

    def seconds(self, output: SchedulerOutput) -> float: ...


@dataclass(frozen=True, slots=True)
class Fixed:
    """Every request has its own deadlines, whatever the load; a step takes no time. `Request.pacing` overrides it."""

    pacing: Pacing = field(default_factory=Pacing)

    def pacing_of(self, request_id: str) -> Pacing:
        return self.pacing

    def seconds(self, output: SchedulerOutput) -> float:
        return 0.0


@dataclass(frozen=True, slots=True)
class Linear:
    """base + per prefill token + per decoding sequence + per token of KV read.

    As in vLLM's kernels a request that is given a single token decodes, any other prefills. A request reads the KV of
    every token it has once the step is done. An empty batch takes no time.
    """

    base: float
    per_prefill_token: float = 0.0
    per_decode_seq: float = 0.0
    per_kv_token: float = 0.0

    def seconds(self, output: SchedulerOutput) -> float:
        if not output.total_num_scheduled_tokens:
            return 0.0
        decodes = output.num_decodes
        prefill_tokens = output.total_num_scheduled_tokens - decodes
        seconds = self.base + self.per_prefill_token * prefill_tokens + self.per_decode_seq * decodes
        if self.per_kv_token:
            seconds += self.per_kv_token * output.num_kv_tokens
        return seconds
