"""What vLLM checks on the raw body of /v1/responses, before its fields are validated. The first failure counts."""

from collections.abc import Mapping
from typing import Any

from mockvllm.wire.errors import APIError, invalid

Body = Mapping[str, Any]

NO_STORE = (
    "This vLLM engine does not support `store=True` and therefore does not support the background mode. "
    "To enable these features, set the environment variable `VLLM_ENABLE_RESPONSES_API_STORE=1` "
    "when launching the vLLM server."
)
TWO_PASTS = "Only one of `previous_input_messages` and `previous_response_id` can be set."


def check_responses_body(body: Body) -> Body:
    """The body as vLLM 0.30 to 0.33 go on to validate it: without tools no choice among them is left. Raises APIError.

    The order is that of pydantic, where the validator that is declared last is the first.
    """
    _check_tool_choice(body)
    if body.get("prompt") is not None:
        raise invalid("prompt template is not supported", "prompt")
    if body.get("background") and not body.get("store", True):
        raise invalid("background can only be used when `store` is true", "background")
    undecided = not body.get("tools") and body.get("tool_choice", "auto") in ("auto", "none")
    return {**body, "tool_choice": "none"} if undecided else body


def refused(message: str, param: str, status: int = 400) -> APIError:
    """An error of the endpoint itself, which names its own kind."""
    return APIError(status, message, "invalid_request_error", param)


def not_found(response_id: str) -> APIError:
    return refused(f"Response with id '{response_id}' not found.", "response_id", 404)


def _check_tool_choice(body: Body) -> None:
    choice, tools = body.get("tool_choice", "auto"), body.get("tools")
    named = isinstance(choice, dict) and choice.get("type") == "function"
    if not tools and choice == "required":
        message = "Tool choice 'required' must be specified with 'tools' parameter."
        raise invalid(message, "tool_choice")
    if named and not (choice.get("name") and choice["name"] in _names(tools)):
        raise invalid("Tool choice 'function' not found in 'tools' parameter.", "tool_choice")


def _names(tools: Any) -> list[Any]:
    """Of functions, those in namespaces included, alone and behind the namespace's name."""
    names = []
    for tool in tools if isinstance(tools, list) else ():
        if not isinstance(tool, dict):
            continue
        inner = tool.get("tools") if tool.get("type") == "namespace" else None
        if isinstance(inner, list):
            own = [function.get("name") for function in inner if isinstance(function, dict)]
            names += [*own, *(f"{tool.get('name')}__{name}" for name in own)]
        else:
            names.append(tool.get("name"))
    return names
