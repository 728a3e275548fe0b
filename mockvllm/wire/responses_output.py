"""The items that a response of /v1/responses consists of, in the key order in which vLLM writes them."""

import random
from collections.abc import Mapping
from typing import Any, Literal

Status = Literal["in_progress", "completed", "incomplete"]
Item = dict[str, Any]
Entries = list[dict[str, Any]]


def random_id(prefix: str) -> str:
    return f"{prefix}{random.getrandbits(64):016x}"


def text_part(text: str, logprobs: Entries | None) -> Item:
    return {"annotations": [], "text": text, "type": "output_text", "logprobs": logprobs}


def logprob_entry(entry: dict[str, Any]) -> dict[str, Any]:
    """An entry of a chat's log-probabilities, as an item shows it."""
    tops = [_token_logprob(top) for top in entry["top_logprobs"]]
    return {**_token_logprob(entry), "top_logprobs": tops}


def _token_logprob(entry: dict[str, Any]) -> dict[str, Any]:
    return {"token": entry["token"], "bytes": list(entry["token"].encode()), "logprob": entry["logprob"]}


def reasoning_part(text: str) -> Item:
    return {"text": text, "type": "reasoning_text"}


def message_item(id: str, content: list[Item], status: Status) -> Item:
    return {"id": id, "content": content, "role": "assistant", "status": status, "type": "message", "phase": None}


def reasoning_item(id: str, content: list[Item] | None, status: Status | None) -> Item:
    return {
        "id": id,
        "summary": [],
        "type": "reasoning",
        "content": content,
        "encrypted_content": None,
        "status": status,
    }


def function_call_item(id: str, call_id: str, name: str, arguments: str, status: Status) -> Item:
    return {
        "arguments": arguments,
        "call_id": call_id,
        "name": name,
        "type": "function_call",
        "id": id,
        "async": None,
        "caller": None,
        "namespace": None,
        "status": status,
    }


def whole_items(
    message: Mapping[str, Any], entries: Entries | None, last_status: Status, *, always_message: bool
) -> list[Item]:
    """The items of a chat's message. `always_message`: also if nothing was said."""
    items = []
    if message["reasoning"]:
        items.append(reasoning_item(random_id("rs_"), [reasoning_part(message["reasoning"])], None))
    text = message["content"] or ""
    if text or always_message:
        items.append(message_item(random_id("msg_"), [text_part(text, entries)] if text else [], "completed"))
    for call in message.get("tool_calls", ()):
        function = call["function"]
        item = function_call_item(random_id("fc_"), call["id"], function["name"], function["arguments"], "completed")
        items.append(item)
    if items and items[-1]["status"] is not None:
        items[-1]["status"] = last_status
    return items
