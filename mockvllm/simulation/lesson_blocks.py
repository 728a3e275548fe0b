"""KV blocks and preemption: one load under the textbook rule and under the real scheduler, side by side."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from mockvllm.engine import SchedulerConfig
from mockvllm.planning.memory import reference_num_gpu_blocks
from mockvllm.simulation.closed_loop import ClosedLoop, EngineLoop, Tally
from mockvllm.simulation.textbook import BLOCK_SIZE, Textbook

CHAT, BATCH = 0, 10  # priorities
MAX_NUM_BATCHED_TOKENS = 8192


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Of `in_flight` requests the last `batch` have the lower priority. `blocks`: None for those of the reference
    replica; lengths in tokens."""

    in_flight: int = 128
    prompt: int = 2000
    output: int = 250
    total: int = 1000
    max_num_seqs: int = 128
    batch: int = 0
    policy: Literal["fcfs", "priority"] = "fcfs"
    kv_dtype: str = "bf16"
    blocks: int | None = None

    @property
    def num_blocks(self) -> int:
        """Raises InputError for an unknown `kv_dtype`."""
        return self.blocks or reference_num_gpu_blocks(kv_cache_dtype=self.kv_dtype)

    def check(self) -> None:
        """Raises ValueError for a case that would not end."""
        if self.batch > self.in_flight:
            raise ValueError(f"--batch {self.batch} is more than --in-flight {self.in_flight}")
        needed = -(-(self.prompt + self.output - 1) // BLOCK_SIZE)
        if needed >= self.num_blocks:
            raise ValueError(f"a request needs {needed} blocks, and vLLM can use {self.num_blocks - 1} of --blocks")


REFERENCE = (
    Case(in_flight=72),
    Case(in_flight=92),
    Case(in_flight=128),
    Case(in_flight=128, kv_dtype="fp8"),
    Case(in_flight=128, batch=56),
    Case(in_flight=128, batch=56, policy="priority"),
)


def compare(case: Case) -> dict[str, Any]:
    """`textbook` keeps the loop full until `total` requests are done. `vllm` sends `total` requests and no more, as its
    recordings do; `textbook_total_sent` is the textbook doing the same."""
    case.check()
    loop = ClosedLoop(
        slots=[CHAT] * (case.in_flight - case.batch) + [BATCH] * case.batch,
        total=case.total,
        prompt=case.prompt,
        output=case.output,
    )
    total_sent = replace(loop, stops_sending=True)
    return {
        "in_flight": case.in_flight,
        "policy": case.policy,
        "batch": case.batch,
        "kv_dtype": case.kv_dtype,
        "textbook": _figures(_textbook(case, loop)),
        "textbook_total_sent": _figures(_textbook(case, total_sent)),
        "vllm": _figures(EngineLoop(total_sent, _config(case)).run()),
    }


def _textbook(case: Case, loop: ClosedLoop) -> Tally:
    return Textbook(loop, case.num_blocks, case.max_num_seqs, case.policy == "priority").run()


def _config(case: Case) -> SchedulerConfig:
    return SchedulerConfig(
        num_gpu_blocks=case.num_blocks,
        block_size=BLOCK_SIZE,
        max_num_seqs=case.max_num_seqs,
        max_num_batched_tokens=max(MAX_NUM_BATCHED_TOKENS, case.max_num_seqs),
        max_model_len=case.prompt + case.output + 1,
        policy=case.policy,
        enable_prefix_caching=False,
    )


def _figures(tally: Tally) -> Mapping[str, Any]:
    return {
        "preemptions": tally.preemptions,
        "preemptions_by_class": {
            "chat": tally.preemptions_by_priority[CHAT],
            "batch": tally.preemptions_by_priority[BATCH],
        },
        "recomputed_tokens": tally.recomputed_tokens,
        "steps": tally.steps,
        "peak_running": tally.peak_running,
    }
