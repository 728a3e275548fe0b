"""What vLLM checks on the raw body before its fields are validated, in its order. The first failure is the answer."""

from collections.abc import Callable, Mapping
from typing import Any

from mockvllm.wire.errors import invalid

Body = Mapping[str, Any]

_USAGE = 'Correct usage: `{"type": "function", "function": {"name": "my_function"}}`'
_FORBIDDEN_IN_SALT = frozenset("@/\\\0")


def check_body(body: Body) -> None:
    """Raises APIError for a chat body that vLLM refuses as a whole (semantics, `BadRequestError`)."""
    if not _WATCHED.isdisjoint(body):
        for _, check in CHAT_CHECKS:
            check(body)


def _generation_prompt(body: Body) -> None:
    if body.get("continue_final_message") and body.get("add_generation_prompt"):
        raise invalid("Cannot set both `continue_final_message` and `add_generation_prompt` to True.")


def _tools(body: Body) -> None:
    tools = body.get("tools")
    if tools is not None and tools == []:
        message = "`tools` must not be an empty array. Either provide at least one tool or omit the field entirely."
        raise invalid(message, "tools")


def _tool_choice(body: Body) -> None:
    choice = body.get("tool_choice")
    if choice is None or choice == "none":
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


def _structured_outputs(body: Body) -> None:
    params = body.get("structured_outputs")
    if not isinstance(params, dict):
        return
    count = sum(params.get(kind) is not None for kind in ("json", "regex", "choice"))
    if count > 1:
        kinds = "('json', 'regex' or 'choice')"
        raise invalid(f"You can only use one kind of constraints for structured outputs {kinds}.")
    if count and body.get("tool_choice", "none") not in ("none", "auto", "required", None):
        raise invalid("You can only either use constraints for structured outputs or tools, not both.")


def _logprob_token_ids(body: Body) -> None:
    if not body.get("logprob_token_ids"):
        return
    if body.get("use_beam_search"):
        raise invalid("`logprob_token_ids` is not supported with beam search.", "logprob_token_ids")
    if not body.get("logprobs"):
        message = "when using `logprob_token_ids`, `logprobs` must be set to true."
        raise invalid(message, "logprob_token_ids")


def _must_be_a_number(body: Body, field: str) -> None:
    value = body.get(field)
    if value is not None and not isinstance(value, int | float):
        raise invalid(f"`{field}` must be an integer.", field, value)


def _prompt_logprobs(body: Body) -> None:
    _must_be_a_number(body, "prompt_logprobs")
    value = body.get("prompt_logprobs")
    if value is None:
        return
    if body.get("stream") and (value > 0 or value == -1):
        raise invalid("`prompt_logprobs` are not available when `stream=True`.", "prompt_logprobs")
    if value < -1:
        raise invalid("`prompt_logprobs` must be a positive value or -1.", "prompt_logprobs", value)


def _top_logprobs(body: Body) -> None:
    _must_be_a_number(body, "top_logprobs")
    value = body.get("top_logprobs")
    if value is None:
        return
    if value < -1:
        raise invalid("`top_logprobs` must be a positive value or -1.", "top_logprobs", value)
    if value != 0 and not body.get("logprobs"):
        raise invalid("when using `top_logprobs`, `logprobs` must be set to true.", "top_logprobs")


def _stream_options(body: Body) -> None:
    if body.get("stream_options") and not body.get("stream"):
        raise invalid("Stream options can only be defined when `stream=True`.", "stream_options")


def _response_format(body: Body) -> None:
    response_format = body.get("response_format")
    if not isinstance(response_format, dict):
        return
    kind = response_format.get("type")
    if kind == "json_schema" and response_format.get("json_schema") is None:
        message = "When response_format type is 'json_schema', the 'json_schema' field must be provided."
        raise invalid(message, "response_format")
    if kind == "structural_tag" and not _is_structural_tag(response_format):
        raise invalid("Invalid response_format structural_tag specification.", "response_format")


def _is_structural_tag(response_format: Mapping[str, Any]) -> bool:
    if "format" in response_format:
        return isinstance(response_format["format"], dict)
    structures, triggers = response_format.get("structures"), response_format.get("triggers")
    return isinstance(structures, list) and isinstance(triggers, list)


def _cache_salt(body: Body) -> None:
    salt = body.get("cache_salt")
    if salt is None:
        return
    if not isinstance(salt, str) or not salt:
        raise invalid("Parameter 'cache_salt' must be a non-empty string if provided.", "cache_salt")
    if len(salt) > 128 or not _FORBIDDEN_IN_SALT.isdisjoint(salt):
        message = "must be at most 128 characters and must not contain '@', '/', '\\\\', or NUL."
        raise invalid(f"Parameter 'cache_salt' {message}", "cache_salt")


CHAT_CHECKS: tuple[tuple[tuple[str, ...], Callable[[Body], None]], ...] = (
    (("continue_final_message",), _generation_prompt),
    (("tools",), _tools),
    (("tool_choice",), _tool_choice),
    (("structured_outputs",), _structured_outputs),
    (("logprob_token_ids",), _logprob_token_ids),
    (("prompt_logprobs",), _prompt_logprobs),
    (("top_logprobs",), _top_logprobs),
    (("stream_options",), _stream_options),
    (("response_format",), _response_format),
    (("cache_salt",), _cache_salt),
)
"""vLLM's order (0.30 to 0.33), each with the fields whose presence makes it worth asking."""

_WATCHED = frozenset(field for fields, _ in CHAT_CHECKS for field in fields)
