"""Routes that differ by release (vLLM's API server, 0.30 to 0.33)."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RouteRules:
    """Each field is one difference; the values stand in the profile's TOML file."""

    kv_event_sources: bool
    scaling_keys: list[str]  # of /is_scaling_elastic_ep, in order
    decisions: list[str]  # the paths of structured decisions
    scale_out: list[str]  # the paths that --enable-scale-out is for, those that say so without it
