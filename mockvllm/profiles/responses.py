"""What differs by release in /v1/responses (vLLM's API server, 0.30 to 0.33)."""

from collections.abc import Sequence
from dataclasses import dataclass

from mockvllm.profiles.rule import rule


@dataclass(frozen=True, slots=True)
class ResponsesRules:
    """Each field is one difference; the values stand in the profile's TOML file."""

    absent_fields: Sequence[str] = rule(
        "fields of /v1/responses that are ignored, as unknown ones are", needs="a wrong value in one of them"
    )
    shows_cache_fields: bool = rule("a response repeats `prompt_cache_*` and `safety_identifier`", "responses/basic")
    cache_write_tokens: bool = rule("`input_tokens_details` of the usage has `cache_write_tokens`", "responses/basic")
    cut_is_incomplete: bool = rule(
        "the last item of a cut answer, and the event that ends its stream, are incomplete", "responses/basic"
    )
    streamed_items_stay: bool = rule(
        "the items of a stream's last event are those that it streamed, with prefixed ids", "responses/stream_eos"
    )
    reasoning_part_event: str = rule("the events around a part of the reasoning", "responses/reasoning_qwen3_stream")
