"""Routes that differ by release (vLLM's API server, 0.30 to 0.33)."""

from collections.abc import Sequence
from dataclasses import dataclass

from mockvllm.profiles.rule import rule


@dataclass(frozen=True, slots=True)
class RouteRules:
    """Each field is one difference; the values stand in the profile's TOML file."""

    kv_event_sources: bool = rule("GET /kv_event_sources is served", "health/kv_event_sources")
    scaling_keys: Sequence[str] = rule("the keys of /is_scaling_elastic_ep", "health/is_scaling")
    decisions: Sequence[str] = rule("the routes of structured decisions", needs="POST to one of them")
    scale_out: Sequence[str] = rule(
        "the routes that answer 403 without --enable-scale-out", "chat_extra/render_completion"
    )
