"""A request's messages as a chat template sees them."""

from collections.abc import Sequence
from typing import Any

from mockvllm.wire.messages import ChatMessage, are_plain


def parse_chat_messages(messages: Sequence[ChatMessage]) -> list[dict[str, Any]]:
    """Each message as a dict of plain data."""
    if are_plain(messages):
        return messages  # type: ignore[return-value]
    return [dict(message) for message in messages]
