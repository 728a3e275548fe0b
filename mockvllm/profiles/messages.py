"""What differs by release in /v1/messages (vLLM's API server, 0.30 to 0.33)."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class MessagesRules:
    """Each field is one difference; the values stand in the profile's TOML file."""

    absent_fields: list[str]  # of the request: ignored like any that is unknown
    absent_count_tokens_fields: list[str]
    checks_thinking_budget: bool
    own_error_types: bool  # errors have Anthropic's types, not vLLM's
