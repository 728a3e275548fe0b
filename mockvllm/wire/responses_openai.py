"""Input items and tools of /v1/responses. vLLM validates them against the openai package's sixty-odd item types.

The usual ones are told by their shape; anything else is left to that package, if it is installed, which also words the
errors. Without it any object is accepted.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

from pydantic import BaseModel, TypeAdapter

from mockvllm.wire.responses_shapes import is_usual_item, is_usual_tool
from mockvllm.wire.responses_types import FunctionTool


def check_items(value: str | list[Any]) -> str | list[Any]:
    """`value`. Raises pydantic's ValidationError."""
    if isinstance(value, list) and not all(map(is_usual_item, value)):
        _validate(_items, value)
    return value


def check_tools(value: list[Any]) -> list[dict[str, Any]]:
    """The tools as responses show them: with all their options. Raises pydantic's ValidationError."""
    if all(map(is_usual_tool, value)):
        return [_shown(FunctionTool.model_validate(tool)) for tool in value]
    return [_shown(tool) for tool in _validate(_tools, value)]


def _shown(tool: Any) -> dict[str, Any]:
    shown: dict[str, Any] = tool.model_dump(mode="json", by_alias=True) if isinstance(tool, BaseModel) else tool
    return shown


def _validate(adapter: Callable[[], TypeAdapter[Any] | None], value: list[Any]) -> list[Any]:
    found = adapter() or TypeAdapter(list[dict[str, Any]])
    validated: list[Any] = found.validate_python(value, from_attributes=True)
    return validated


@cache
def _items() -> TypeAdapter[Any] | None:
    try:
        from openai.types.responses import ResponseInputItemParam, ResponseOutputItem  # optional, and slow to import
    except ImportError:
        return None
    return TypeAdapter(str | list[ResponseInputItemParam | ResponseOutputItem])


@cache
def _tools() -> TypeAdapter[Any] | None:
    try:
        from openai.types.responses.tool import Tool
    except ImportError:
        return None
    return TypeAdapter(list[Tool])
