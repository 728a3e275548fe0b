"""What vLLM checks on a completion's raw body before its fields are validated, in its order."""

from mockvllm.wire.checks import (
    Body,
    Checks,
    check_cache_salt,
    check_number,
    check_prompt_logprobs,
    check_response_format,
    check_stream_options,
    count_constraints,
    no_beam_search,
    run_checks,
)
from mockvllm.wire.errors import invalid


def check_completion(body: Body, max_prompts: int) -> None:
    """Raises APIError for a body that vLLM refuses as a whole. `max_prompts`: VLLM_MAX_COMPLETION_PROMPTS."""
    prompt = body.get("prompt")
    _check_count("prompt", prompt, max_prompts)
    _check_count("prompt_embeds", body.get("prompt_embeds"), max_prompts)
    if prompt in (None, "") and body.get("prompt_embeds") in (None, []):
        raise invalid("Either prompt or prompt_embeds must be provided and non-empty.", "prompt")
    run_checks(body, COMPLETION_CHECKS)


def check_beam_echo(body: Body) -> None:
    """vLLM 0.32 and later; 0.30 fails inside (500)."""
    if body.get("use_beam_search") and body.get("echo") and body.get("logprobs") is not None:
        message = "because beam search does not compute prompt logprobs."
        raise invalid(f"`echo` with `logprobs` is not supported with beam search {message}", "echo")


def _check_count(field: str, value: object, most: int) -> None:
    """A list of numbers is one prompt, however long."""
    if not isinstance(value, list) or len(value) <= most or all(isinstance(item, int) for item in value):
        return
    message = f"{field} list length {len(value)} exceeds the maximum allowed count of {most}."
    raise invalid(f"{message} To increase this limit, set the VLLM_MAX_COMPLETION_PROMPTS environment variable.", field)


def _logprob_token_ids(body: Body) -> None:
    if not body["logprob_token_ids"]:
        return
    no_beam_search(body)
    if body.get("echo") and body.get("max_tokens") == 0:
        message = "when `echo=True` and `max_tokens=0` because no output tokens are generated."
        raise invalid(f"`logprob_token_ids` is not supported {message}", "logprob_token_ids")
    if body.get("logprobs") is None:
        raise invalid("when using `logprob_token_ids`, `logprobs` must be set.", "logprob_token_ids")


def _types(body: Body) -> None:
    """Of both fields, before the value of either is looked at."""
    for field in ("prompt_logprobs", "logprobs"):
        if body.get(field) is not None:
            check_number(body, field)


def _logprobs(body: Body) -> None:
    if body["logprobs"] < -1:
        raise invalid("`logprobs` must be a positive value or -1.", "logprobs", body["logprobs"])


def _structured_outputs(body: Body) -> None:
    count_constraints(body, "structured_outputs")


COMPLETION_CHECKS: Checks = (
    ("stream_options", check_stream_options),
    ("logprob_token_ids", _logprob_token_ids),
    ("prompt_logprobs", _types),
    ("logprobs", _types),
    ("prompt_logprobs", check_prompt_logprobs),
    ("logprobs", _logprobs),
    ("structured_outputs", _structured_outputs),
    ("response_format", check_response_format),
    ("cache_salt", check_cache_salt),
)
"""vLLM's order (0.30 to 0.33)."""
