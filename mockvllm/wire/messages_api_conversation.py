"""The conversation of the Anthropic API as that of a chat request (vLLM 0.30 to 0.33)."""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from mockvllm.wire.messages_api_types import AnthropicContentBlock, AnthropicMessage

BILLING_HEADER = "x-anthropic-billing-header"
"""System blocks that begin so differ from request to request: vLLM leaves them out, for the prefix cache's sake."""

Message = dict[str, Any]
System = str | list[AnthropicContentBlock] | None


def conversation(system: System, messages: Sequence[AnthropicMessage]) -> list[Message]:
    """One system message, if any, before all others."""
    return [*_system(system, messages), *_conversation(messages)]


def _system(system: System, messages: Iterable[AnthropicMessage]) -> list[Message]:
    """What is said in the system's name, wherever it stands, as one message."""
    texts = [system] if isinstance(system, str) else list(_system_texts(system or ()))
    for message in messages:
        if message.role == "system":
            content = message.content
            texts += [content] if isinstance(content, str) else _system_texts(content)
    text = "".join(texts)
    return [{"role": "system", "content": text}] if text else []


def _system_texts(blocks: Iterable[AnthropicContentBlock]) -> Iterator[str]:
    return (block.text for block in blocks if block.type == "text" and block.text and not _is_billing(block.text))


def _is_billing(text: str) -> bool:
    return text.startswith(BILLING_HEADER)


def _conversation(messages: Iterable[AnthropicMessage]) -> Iterator[Message]:
    for message in messages:
        if message.role == "system":
            continue
        if isinstance(message.content, str):
            yield {"role": message.role, "content": message.content}
        else:
            yield from _of_blocks(message.role, message.content)


def _of_blocks(role: str, blocks: Sequence[AnthropicContentBlock]) -> Iterator[Message]:
    """The results of tools first, each a message of its own; then the rest of the blocks as one."""
    if role == "user":
        for block in blocks:
            if block.type == "tool_result":
                yield from _tool_result(block)
    message: Message = {"role": role}
    thoughts = [block.thinking for block in blocks if block.type == "thinking" and block.thinking is not None]
    if thoughts:
        message["reasoning"] = "".join(thoughts)
    calls = [_tool_call(block) for block in blocks if block.type == "tool_use"]
    if calls:
        message["tool_calls"] = calls
    parts = [part for block in blocks for part in _parts(role, block)]
    if parts:
        alone = len(parts) == 1 and parts[0]["type"] == "text"
        message["content"] = parts[0]["text"] if alone else parts
    if role != "user" or parts:
        yield message


def _parts(role: str, block: AnthropicContentBlock) -> Iterator[Message]:
    if block.type == "text" and block.text:
        yield {"type": "text", "text": block.text}
    elif block.type == "image" and block.source:
        yield _image(block.source)
    elif block.type == "tool_result" and role != "user":
        yield {"type": "text", "text": f"Tool result: {block.content or ''}"}


def _image(source: dict[str, Any]) -> Message:
    if source.get("type") == "url":
        url = source.get("url", "")
    else:
        url = f"data:{source.get('media_type', 'image/jpeg')};base64,{source.get('data', '')}"
    return {"type": "image_url", "image_url": {"url": url}}


def _tool_call(block: AnthropicContentBlock) -> Message:
    function = {"name": block.name or "", "arguments": json.dumps(block.input or {})}
    return {"id": block.id or "", "type": "function", "function": function}


def _tool_result(block: AnthropicContentBlock) -> Iterator[Message]:
    """Its text; its images in the user's name; the tools that it names."""
    content = block.content
    items: list[Message] = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
    answer = {"role": "tool", "tool_call_id": block.tool_use_id or ""}
    yield {**answer, "content": "\n".join(item.get("text", "") for item in items if item.get("type") == "text")}
    images = [_image(item.get("source") or {}) for item in items if item.get("type") == "image"]
    if images:
        yield {"role": "user", "content": images}
    named = [item.get("tool_name") or item.get("name") for item in items if item.get("type") == "tool_reference"]
    if any(named):
        yield {**answer, "content": [{"type": "tool_reference", "name": name} for name in named if name]}
