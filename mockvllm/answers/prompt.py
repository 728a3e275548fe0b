"""From messages to a prompt when there is no chat template: their contents, one after the other."""

from collections.abc import Iterable, Mapping
from typing import Any


def content_text(content: Any) -> str:
    """The text of a message's content: a string, or the texts of its parts, a line each."""
    if content is None or isinstance(content, str):
        return content or ""
    return "\n".join(part if isinstance(part, str) else str(part.get("text") or "") for part in content)


def plain_prompt(messages: Iterable[Mapping[str, Any]]) -> str:
    """The contents, one a line: as many words as the messages have."""
    return "\n".join([content_text(message.get("content")) for message in messages])


def last_user_text(messages: Iterable[Mapping[str, Any]]) -> str:
    """What the user said last; "" if nothing."""
    for message in reversed(list(messages)):
        if message.get("role") == "user":
            return content_text(message.get("content"))
    return ""
