"""Bytes and texts that differ by release (vLLM's API server, 0.30 to 0.33)."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class WireRules:
    """Each field is one difference; the values stand in the profile's TOML file."""

    weight_versions: bool
    chunk_kv_transfer_params: bool
    valid_aliases_in_404: bool
    finish_without_output: bool
    spaced_stream_errors: bool
    reserves_output: bool
    generation_config_penalties: bool
    distrusts_mm_kwargs: bool
    null_top_logprobs_counts: bool
    generation_config_skip_special_tokens: bool
    suffix_names_fim: bool  # the refusal of a completion's suffix
    empty_prompt_list_names_field: bool
    beam_search_checks_echo: bool
    scoring_schema_errors_listed: bool  # as everywhere else, not in pydantic's own words
    text_offset_continues: bool  # over the events of a completion with log-probabilities
    withheld_logprobs: bool  # tokens that a parser withholds have a chunk if log-probabilities are asked for
    cut_calls_are_calls: bool  # finish_reason tool_calls even if the answer was cut
    calls_follow_schema: bool  # arguments under required or named, though the tool is not strict
    single_call_ends: bool  # parallel_tool_calls false ends the answer behind the first call
