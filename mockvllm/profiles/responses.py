"""What differs by release in /v1/responses (vLLM's API server, 0.30 to 0.33)."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ResponsesRules:
    """Each field is one difference; the values stand in the profile's TOML file."""

    absent_fields: list[str]  # of the request: ignored like any that is unknown
    shows_cache_fields: bool  # the response repeats prompt_cache_* and safety_identifier
    cache_write_tokens: bool
    cut_is_incomplete: bool  # a cut answer: its last item, and the event that ends the stream, say so
    streamed_items_stay: bool  # the items of a stream are those of its last event, and their ids have a prefix
    reasoning_part_event: str
