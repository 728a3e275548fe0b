"""Scheduling rules that differ by release (vLLM V1 scheduler, 0.30 to 0.33)."""

from dataclasses import dataclass

from mockvllm.profiles.rule import rule


@dataclass(frozen=True, slots=True)
class SchedulerRules:
    """Each field is one rule; the values stand in the profile's TOML file."""

    self_preemption_ends_priority_pass: bool = rule(
        "under --scheduling-policy priority a request that evicts itself ends the pass over the running ones",
        needs="priority and too few KV blocks",
    )
    prefill_schedule_interval_without_dp: bool = rule(
        "--prefill-schedule-interval acts without data parallelism", needs="that flag"
    )
    threshold_applies_to_lone_request: bool = rule(
        "--long-prefill-token-threshold cuts the prompt of a request that is alone",
        needs="that flag and a longer prompt",
    )
    has_long_prefill_token_threshold_adaptive: bool = rule(
        "the option long_prefill_token_threshold_adaptive exists", needs="that option"
    )
    has_max_num_active_seqs: bool = rule("the option max_num_active_seqs exists", needs="that option")
    tagged_extra_keys: bool = rule(
        "block hashes of KV events take a cache salt as a tagged pair", needs="--kv-events-config and a cache_salt"
    )
    lookahead_token_ids: bool = rule("BlockStored events have `lookahead_token_ids`", needs="--kv-events-config")
    remote_prefill_cached_tokens: bool = rule(
        "usage of a prompt that was computed elsewhere has the tokens cached there; `kv_transfer_params` say them",
        needs="--kv-transfer-config",
    )
