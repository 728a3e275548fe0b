"""The items that a response of /v1/responses consists of, in the key order in which vLLM writes them."""

import random
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
