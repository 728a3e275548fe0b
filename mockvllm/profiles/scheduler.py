"""Scheduling rules that differ by release (vLLM V1 scheduler, 0.30 to 0.33)."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SchedulerRules:
    """Each field is one rule; the values stand in the profile's TOML file."""

    self_preemption_ends_priority_pass: bool
    prefill_schedule_interval_without_dp: bool
    threshold_applies_to_lone_request: bool
    has_long_prefill_token_threshold_adaptive: bool
    has_max_num_active_seqs: bool
    tagged_extra_keys: bool  # block hashes: ("cache_salt", salt) instead of the bare salt
    lookahead_token_ids: bool  # BlockStored has this 16th key: its msgpack map takes a 16-bit header
