"""What vLLM checks of `tools` and `tool_choice` on the raw body."""

from collections.abc import Mapping
from typing import Any

from mockvllm.wire.errors import invalid

_USAGE = 'Correct usage: `{"type": "function", "function": {"name": "my_function"}}`'


def check_tools(body: Mapping[str, Any]) -> None:
    if body["tools"] == []:
        message = "`tools` must not be an empty array. Either provide at least one tool or omit the field entirely."
        raise invalid(message, "tools")


def check_tool_choice(body: Mapping[str, Any]) -> None:
    choice = body["tool_choice"]
    if choice == "none":
        return
    tools = body.get("tools")
    if tools is None:
        raise invalid("When using `tool_choice`, `tools` must be set.", "tool_choice")
    if choice in ("auto", "required"):
        return
    if not isinstance(choice, dict):
        message = f'{choice}! Only named tools, "none", "auto" or "required" are supported.'
        raise invalid(f"Invalid value for `tool_choice`: {message}", "tool_choice")
    name = _named_function(choice)
    if isinstance(tools, list) and name not in map(_tool_name, tools):
        message = "The tool specified in `tool_choice` does not match any of the specified `tools`"
        raise invalid(message, "tool_choice")


def _named_function(choice: Mapping[str, Any]) -> str:
    function = choice.get("function")
    if not isinstance(function, dict):
        message = f"Invalid value for `function`: `{function}` in `tool_choice`! {_USAGE}"
        raise invalid(message, "tool_choice.function")
    if "name" not in function:
        message = f"Expected field `name` in `function` in `tool_choice`! {_USAGE}"
        raise invalid(message, "tool_choice.function.name")
    name = function["name"]
    if not isinstance(name, str) or not name:
        message = f"Invalid `name` in `function`: `{name}` in `tool_choice`! {_USAGE}"
        raise invalid(message, "tool_choice.function.name")
    return name


def _tool_name(tool: object) -> object:
    function = tool.get("function") if isinstance(tool, dict) else None
    return function.get("name") if isinstance(function, dict) else None
