"""What vLLM checks on the raw body before its fields are validated, in its order. The first failure is the answer."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mockvllm.wire.errors import invalid
from mockvllm.wire.tool_checks import check_tool_choice, check_tools

Body = Mapping[str, Any]
Checks = Sequence[tuple[str, Callable[[Body], None]]]
"""Each with the field that must be there (and not null) for it to be asked."""

_FORBIDDEN_IN_SALT = frozenset("@/\\\0")


def check_body(body: Body) -> None:
    """Raises APIError for a chat body that vLLM refuses as a whole (semantics, `BadRequestError`)."""
    if not _WATCHED.isdisjoint(body):
        run_checks(body, CHAT_CHECKS)


def run_checks(body: Body, checks: Checks) -> None:
    for field, check in checks:
        if body.get(field) is not None:
            check(body)


def check_generation_prompt(body: Body) -> None:
    if body["continue_final_message"] and body.get("add_generation_prompt"):
        raise invalid("Cannot set both `continue_final_message` and `add_generation_prompt` to True.")


def count_constraints(body: Body, parameter: str | None = None) -> int:
    """How many of the older kinds of constraint there are; more than one are an error about `parameter`."""
    params = body["structured_outputs"]
    if not isinstance(params, dict):
        return 0
    count = sum(params.get(kind) is not None for kind in ("json", "regex", "choice"))
    if count > 1:
        kinds = "('json', 'regex' or 'choice')"
        raise invalid(f"You can only use one kind of constraints for structured outputs {kinds}.", parameter)
    return count


def _structured_outputs(body: Body) -> None:
    count = count_constraints(body)
    if count and body.get("tool_choice", "none") not in ("none", "auto", "required"):
        raise invalid("You can only either use constraints for structured outputs or tools, not both.")


def _logprob_token_ids(body: Body) -> None:
    if not body["logprob_token_ids"]:
        return
    no_beam_search(body)
    if not body.get("logprobs"):
        message = "when using `logprob_token_ids`, `logprobs` must be set to true."
        raise invalid(message, "logprob_token_ids")


def no_beam_search(body: Body) -> None:
    if body.get("use_beam_search"):
        raise invalid("`logprob_token_ids` is not supported with beam search.", "logprob_token_ids")


def check_number(body: Body, field: str) -> None:
    value = body[field]
    if not isinstance(value, int | float):
        raise invalid(f"`{field}` must be an integer.", field, value)


def check_prompt_logprobs(body: Body) -> None:
    check_number(body, "prompt_logprobs")
    value = body["prompt_logprobs"]
    if body.get("stream") and (value > 0 or value == -1):
        raise invalid("`prompt_logprobs` are not available when `stream=True`.", "prompt_logprobs")
    if value < -1:
        raise invalid("`prompt_logprobs` must be a positive value or -1.", "prompt_logprobs", value)


def _top_logprobs(body: Body) -> None:
    check_number(body, "top_logprobs")
    value = body["top_logprobs"]
    if value < -1:
        raise invalid("`top_logprobs` must be a positive value or -1.", "top_logprobs", value)
    if value != 0 and not body.get("logprobs"):
        raise invalid("when using `top_logprobs`, `logprobs` must be set to true.", "top_logprobs")


def check_stream_options(body: Body) -> None:
    if body["stream_options"] and not body.get("stream"):
        raise invalid("Stream options can only be defined when `stream=True`.", "stream_options")


def check_response_format(body: Body) -> None:
    response_format = body["response_format"]
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


def check_cache_salt(body: Body) -> None:
    salt = body["cache_salt"]
    if not isinstance(salt, str) or not salt:
        raise invalid("Parameter 'cache_salt' must be a non-empty string if provided.", "cache_salt")
    if len(salt) > 128 or not _FORBIDDEN_IN_SALT.isdisjoint(salt):
        message = "must be at most 128 characters and must not contain '@', '/', '\\\\', or NUL."
        raise invalid(f"Parameter 'cache_salt' {message}", "cache_salt")


def reused_prompt_token_ids(params: Mapping[str, Any] | None) -> list[int] | None:
    """The prompt that `kv_transfer_params` carry, if they do. Raises APIError for what is none."""
    token_ids = (params or {}).get("prompt_token_ids")
    if token_ids is None:
        return None
    if not isinstance(token_ids, list) or not token_ids or not all(type(x) is int and x >= 0 for x in token_ids):
        problem = "`kv_transfer_params['prompt_token_ids']` must be a non-empty list of non-negative integers."
        raise invalid(problem, "kv_transfer_params.prompt_token_ids")
    return token_ids


CHAT_CHECKS: Checks = (
    ("continue_final_message", check_generation_prompt),
    ("tools", check_tools),
    ("tool_choice", check_tool_choice),
    ("structured_outputs", _structured_outputs),
    ("logprob_token_ids", _logprob_token_ids),
    ("prompt_logprobs", check_prompt_logprobs),
    ("top_logprobs", _top_logprobs),
    ("stream_options", check_stream_options),
    ("response_format", check_response_format),
    ("cache_salt", check_cache_salt),
)
"""vLLM's order (0.30 to 0.33)."""

_WATCHED = frozenset(field for field, _ in CHAT_CHECKS)
