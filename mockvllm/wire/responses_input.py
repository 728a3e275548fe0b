"""The input of /v1/responses as the messages of a chat (vLLM 0.30 to 0.33)."""

from collections.abc import Mapping, Sequence
from typing import Any

from mockvllm.wire.errors import invalid

Message = dict[str, Any]
Item = Mapping[str, Any]


def input_messages(value: str | Sequence[Item]) -> list[Message]:
    """Items that belong to one turn of the assistant become one message. Raises APIError."""
    if isinstance(value, str):
        return [{"role": "user", "content": value}]
    messages: list[Message] = []
    for item in value:
        _add(messages, item)
    return messages


def continues_last_message(value: str | Sequence[Item]) -> bool:
    """Whether the last item is a beginning that the answer is to go on from."""
    if isinstance(value, str) or not value:
        return False
    last = value[-1]
    is_said = last.get("type", "message") in ("message", "reasoning")
    return is_said and last.get("status") in ("in_progress", "incomplete")


def output_messages(items: Sequence[Item]) -> list[Message]:
    """What an earlier response said; its reasoning is left out."""
    parts = [part for item in items if item["type"] == "message" for part in item["content"]]
    return [{"role": "assistant", "content": part["text"]} for part in parts]


def _add(messages: list[Message], item: Item) -> None:
    kind = item.get("type")
    if kind == "function_call":
        _add_call(messages, item)
    elif kind == "function_call_output":
        messages.append({"role": "tool", "content": item.get("output"), "tool_call_id": item.get("call_id")})
    elif kind == "reasoning":
        _add_to_turn(messages, "reasoning", _reasoning(item))
    elif item.get("role") == "assistant":
        _add_to_turn(messages, "content", _first_text(item.get("content")))
    elif "role" in item:
        messages.append({"role": item["role"], "content": item.get("content")})
    else:
        raise invalid(f"Input items of type {kind!r} have no place in a chat.", "input")


def _add_to_turn(messages: list[Message], name: str, text: str) -> None:
    if messages and messages[-1]["role"] == "assistant" and messages[-1].get(name) is None:
        messages[-1][name] = text
    else:
        messages.append({"role": "assistant", name: text})


def _add_call(messages: list[Message], item: Item) -> None:
    namespace = item.get("namespace")
    name = f"{namespace}__{item['name']}" if namespace else item["name"]
    function = {"name": name, "arguments": item["arguments"]}
    call = {"id": item["call_id"], "type": "function", "function": function}
    if messages and messages[-1]["role"] == "assistant":
        messages[-1].setdefault("tool_calls", []).append(call)
    else:
        messages.append({"role": "assistant", "tool_calls": [call]})


def _reasoning(item: Item) -> str:
    if item.get("encrypted_content"):
        raise invalid("Encrypted content is not supported.")
    return _first_text(item.get("content") or item.get("summary"))


def _first_text(content: Any) -> str:
    if not content:
        return ""
    first = content if isinstance(content, str) else content[0]
    return first if isinstance(first, str) else str(first.get("text", ""))
