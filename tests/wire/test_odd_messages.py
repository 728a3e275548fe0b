"""Messages that no client means, found by fuzzing: each is rendered or refused."""

from typing import Any

import pytest

from mockvllm.wire.conversation import parse_chat_messages
from mockvllm.wire.errors import APIError


@pytest.mark.parametrize("role", ["user", "tool"])
def test_a_harmony_message_has_its_author_s_role(role: str) -> None:
    content = [{"type": "text", "text": "hola"}]
    (parsed,) = parse_chat_messages([{"author": {"role": role}, "content": content}], "m", takes_parts=False)
    assert (parsed["role"], parsed["content"]) == (role, "hola")


@pytest.mark.parametrize("part", [None, 3, {"type": None}, {"type": ["text"]}, {"type": {}}, {}])
def test_a_part_of_no_known_type_is_refused(part: Any) -> None:
    with pytest.raises(APIError, match="Unsupported chat content part type") as raised:
        parse_chat_messages([{"role": "user", "content": [part]}], "m", takes_parts=False)
    assert raised.value.status == 400
