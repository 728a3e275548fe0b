"""What vLLM's scheduler and KV cache are configured with. Names and defaults are vLLM's (0.33.0)."""

from typing import Literal

import msgspec

from mockvllm.profiles.scheduler import SchedulerRules

_AT_LEAST_ONE = (
    "num_gpu_blocks",
    "block_size",
    "max_num_seqs",
    "max_num_active_seqs",
    "max_num_batched_tokens",
    "max_num_scheduled_tokens",
    "max_model_len",
    "prefill_schedule_interval",
)


class SchedulerConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Token counts, block counts and seats of one engine.

    `num_gpu_blocks` includes block 0, which is never handed out. `None` for `max_num_active_seqs` means
    `max_num_seqs`, for `max_num_scheduled_tokens` it means `max_num_batched_tokens`. Raises ValueError with the field.
    """

    num_gpu_blocks: int
    block_size: int = 16
    max_num_seqs: int = 1024
    max_num_active_seqs: int | None = None
    max_num_batched_tokens: int = 8192
    max_num_scheduled_tokens: int | None = None
    max_model_len: int = 8192
    enable_prefix_caching: bool = True
    enable_chunked_prefill: bool = True
    long_prefill_token_threshold: int = 0
    long_prefill_token_threshold_adaptive: bool = False
    policy: Literal["fcfs", "priority"] = "fcfs"
    scheduler_reserve_full_isl: bool = True
    watermark: float = 0.0
    prefill_schedule_interval: int = 1
    async_scheduling: bool = True

    def __post_init__(self) -> None:
        for name in _AT_LEAST_ONE:
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ValueError(f"{name} must be at least 1, not {value}")
        if self.long_prefill_token_threshold < 0:
            raise ValueError(
                f"long_prefill_token_threshold must not be negative, not {self.long_prefill_token_threshold}"
            )
        if not 0.0 <= self.watermark < 1.0:
            raise ValueError(f"watermark must be in [0, 1), not {self.watermark}")

    def check_release(self, rules: SchedulerRules) -> None:
        """Raises ValueError if an option is set that the release does not have."""
        if self.long_prefill_token_threshold_adaptive and not rules.has_long_prefill_token_threshold_adaptive:
            raise ValueError("long_prefill_token_threshold_adaptive is not an option of this release")
        if self.max_num_active_seqs is not None and not rules.has_max_num_active_seqs:
            raise ValueError(f"max_num_active_seqs ({self.max_num_active_seqs}) is not an option of this release")
