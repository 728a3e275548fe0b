"""A request's messages as a chat template sees them (vLLM's parse_chat_messages)."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ValidationError

from mockvllm.wire.errors import invalid
from mockvllm.wire.messages import are_plain
from mockvllm.wire.validation import pydantic_s_own

TEXT_OF = {
    "text": "text",
    "input_text": "text",
    "output_text": "text",
    "refusal": "refusal",
    "thinking": "thinking",
}
"""Content parts that are text, and where it stands in them."""
_MEDIA = (
    "audio_embeds",
    "audio_url",
    "image_embeds",
    "image_pil",
    "image_url",
    "input_audio",
    "input_image",
    "prompt_embeds",
    "tool_reference",
    "video_embeds",
    "video_url",
)
_SUPPORTED = ", ".join(sorted((*TEXT_OF, *_MEDIA)))


EMPTY = "Cannot apply chat template to an empty conversation. Provide at least one message."


def parse_chat_messages(messages: Sequence[Any], model: str, *, takes_parts: bool) -> list[dict[str, Any]]:
    """Each message as plain data. `takes_parts`: the template wants a content's parts, not their text.

    `model`: the name that refuses media. Raises APIError.
    """
    if not messages:
        raise invalid(EMPTY)
    if are_plain(messages) and not takes_parts:
        return messages  # type: ignore[return-value]
    return [_message(message, model, takes_parts) for message in messages]


def _message(message: Any, model: str, takes_parts: bool) -> dict[str, Any]:
    if isinstance(message, BaseModel):
        message = message.model_dump()
    parsed = dict(message)
    if "role" not in parsed:  # a message of Harmony's
        parsed["role"] = parsed["author"]["role"]
    if "reasoning_content" in parsed:
        parsed.setdefault("reasoning", parsed.pop("reasoning_content"))
    parts = _parts(message.get("content"), model)
    parsed["content"] = parts if takes_parts else "\n".join(part["text"] for part in parts)
    if "tool_calls" in parsed:
        parsed["tool_calls"] = [_tool_call(call) for call in _consume(parsed["tool_calls"] or ())]
    return parsed


def _parts(content: Any, model: str) -> list[dict[str, str]]:
    if content is None:
        return []
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [{"type": "text", "text": _text(part, model)} for part in _consume(content)]


def _text(part: Any, model: str) -> str:
    if isinstance(part, str):
        return part
    kind = part.get("type") if isinstance(part, Mapping) else None
    if isinstance(kind, str) and kind in _MEDIA:
        raise invalid(f"{model} is not a multimodal model")
    if not isinstance(kind, str) or kind not in TEXT_OF:
        message = f"Unsupported chat content part type: {kind!r}. Supported types: {_SUPPORTED}."
        raise invalid(message, "type", kind)
    return str(part.get(TEXT_OF[kind]) or "")


def _tool_call(call: Mapping[str, Any]) -> dict[str, Any]:
    """The call with its arguments as an object; arguments that are no JSON are none."""
    function = dict(call.get("function") or {})
    arguments = function.get("arguments")
    if isinstance(arguments, str) or arguments is None:
        function["arguments"] = _json_object(arguments or "{}")
    return {**call, "function": function}


def _json_object(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return {}


def _consume(items: Iterable[Any]) -> list[Any]:
    """The items of what pydantic validates only as it is read. Raises APIError with pydantic's own text."""
    try:
        return list(items)
    except ValidationError as error:
        raise pydantic_s_own(error) from None
