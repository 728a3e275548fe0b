"""What differs by release in /v1/messages (vLLM's API server, 0.30 to 0.33)."""

from collections.abc import Sequence
from dataclasses import dataclass

from mockvllm.profiles.rule import rule


@dataclass(frozen=True, slots=True)
class MessagesRules:
    """Each field is one difference; the values stand in the profile's TOML file."""

    absent_fields: Sequence[str] = rule(
        "fields of /v1/messages that are ignored, as unknown ones are", "messages/thinking"
    )
    absent_count_tokens_fields: Sequence[str] = rule(
        "fields of /v1/messages/count_tokens that are ignored, as unknown ones are",
        needs="a wrong value in one of them",
    )
    checks_thinking_budget: bool = rule(
        "`thinking.budget_tokens` has to be below `max_tokens` (400)", "messages/thinking"
    )
    own_error_types: bool = rule("errors of /v1/messages have Anthropic's types, not vLLM's", "messages/empty_messages")
