"""What is refused, and what first: one request that violates everything, mended one violation at a time."""

from itertools import pairwise
from typing import Any

import pytest
from chat_client import HOLA, prepare, refusal, words

FUNCTION = {"type": "function", "function": {"name": "f"}}
SERVING = words(answer="repeat", max_model_len=100)

# what is wrong, what mends it, and the parameter and a part of the text of the error, in vLLM's order
IN_ORDER: list[tuple[dict[str, Any], str | None, str]] = [
    ({"continue_final_message": True, "add_generation_prompt": True}, None, "Cannot set both"),
    ({"tools": []}, "tools", "must not be an empty array"),
    ({"tool_choice": "auto"}, "tool_choice", "`tools` must be set"),
    ({"structured_outputs": {"regex": "a", "json": "{}"}}, None, "only use one kind of constraints"),
    ({"structured_outputs": {"regex": "a"}, "tool_choice": None}, None, "structured outputs or tools, not both"),
    ({"logprob_token_ids": [1]}, "logprob_token_ids", "`logprobs` must be set to true"),
    ({"prompt_logprobs": 1, "stream": True}, "prompt_logprobs", "not available when `stream=True`"),
    ({"top_logprobs": 2}, "top_logprobs", "`logprobs` must be set to true"),
    ({"stream_options": {"include_usage": True}}, "stream_options", "only be defined when `stream=True`"),
    ({"response_format": {"type": "json_schema"}}, "response_format", "'json_schema' field must be provided"),
    ({"cache_salt": ""}, "cache_salt", "must be a non-empty string"),
    ({"thinking_token_budget": -2}, "thinking_token_budget", "non-negative integer or -1"),
    ({"thinking_token_budget": "9"}, "thinking_token_budget", "(parameter=thinking_token_budget, value=9)"),
    ({"thinking_token_budget": True}, "thinking_token_budget", "(parameter=thinking_token_budget, value=True)"),
    ({"temperature": "x", "user": 5}, "body.temperature", "2 validation errors"),
    ({"model": "other"}, "model", "The model `other` does not exist. Valid aliases: m."),
    ({"chat_template": "x"}, None, "Refused request with untrusted chat template"),
    ({"media_io_kwargs": {"video": {}}}, "media_io_kwargs", "multimodal media loading"),
    ({"mm_processor_kwargs": {"a": 1}}, "mm_processor_kwargs", "multimodal preprocessing"),
    ({"max_tokens": 101}, "max_tokens", "max_tokens=101 cannot be greater than max_model_len=100"),
    ({"truncate_prompt_tokens": 101}, "truncate_prompt_tokens", "max_model_len = 100"),
    ({"messages": []}, None, "empty conversation"),
    ({"messages": [{"role": "user", "content": "a " * 200}]}, "input_tokens", "at least 101 input tokens"),
    ({"logit_bias": {"a": 1}}, "logit_bias", "cannot be converted to integer token IDs: ['a']"),
    ({"n": 0}, None, "n must be at least 1, got 0."),
    ({"vllm_xargs": {"a": 2**64}}, "extra_args", "between -2**63 and 2**64 - 1"),
    ({"presence_penalty": 3}, None, "presence_penalty must be in [-2, 2], got 3.0."),
    ({"frequency_penalty": -3.5}, None, "frequency_penalty must be in [-2, 2], got -3.5."),
    ({"repetition_penalty": 0}, None, "repetition_penalty must be greater than zero, got 0.0."),
    ({"temperature": 2.5}, "temperature", "must be in [0, 2], got 2.5. (parameter=temperature, value=2.5)"),
    ({"top_p": 0}, "top_p", "top_p must be in (0, 1], got 0.0."),
    ({"top_k": -2}, None, "top_k must be 0 (disable), or at least 1, got -2."),
    ({"min_p": 1.5}, None, "min_p must be in [0, 1], got 1.5."),
    ({"max_completion_tokens": 0}, "max_tokens", "max_tokens must be at least 1, got 0."),
    ({"min_tokens": -1}, None, "min_tokens must be greater than or equal to 0, got -1."),
    ({"stop": ["a", ""]}, None, "stop cannot contain an empty string."),
    ({"bad_words": ["a", ""]}, None, "bad_words cannot contain an empty string. Got bad_words=['a', '']"),
    ({"bad_words": ["a", "a", ""]}, None, "Got bad_words=['a', '']"),
    ({"temperature": 0, "n": 2}, None, "n must be 1 when using greedy sampling, got 2."),
    ({"logprobs": True, "top_logprobs": 21}, "logprobs", "logprobs of 21, which is greater than max allowed: 20"),
    ({"logprobs": True, "logprob_token_ids": [2**31]}, "logprob_token_ids", "out-of-vocab"),
    ({"prompt_logprobs": 21}, "prompt_logprobs", "prompt logprobs of 21"),
    ({"logit_bias": {"-1": 1}}, "logit_bias", "token_id(s) [-1] in logit_bias"),
    ({"stop_token_ids": [2**31, 2**31]}, "stop_token_ids", f"token_id(s) [{2**31}] in stop_token_ids"),
    ({"allowed_token_ids": []}, "allowed_token_ids", "allowed_token_ids is not None and empty!"),
    ({"structured_outputs": {"choice": []}}, None, "Choice '[]' cannot be an empty list"),
    ({"thinking_token_budget": 0}, None, "reasoning_config is not configured"),
    ({"truncate_prompt_tokens": 0}, None, "The decoder prompt cannot be empty"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("fields", "param", "text"), IN_ORDER, ids=lambda value: None if isinstance(value, str) else ""
)
def test_each_violation_alone(fields: dict[str, Any], param: str | None, text: str) -> None:
    error = refusal(SERVING, **fields)
    assert (error.param, text in error.message) == (param, True), error.message


def test_the_first_violation_in_order_is_the_answer() -> None:
    """Each pair of neighbours together: the earlier one is told, unless both speak of one field."""
    for (first, param, text), (second, _, _) in pairwise(IN_ORDER):
        if first.keys().isdisjoint(second):
            error = refusal(SERVING, **first, **second)
            assert (error.param, text in error.message) == (param, True), (first, second, error.message)


@pytest.mark.parametrize(
    ("choice", "param", "text"),
    [
        ("a_veces", "tool_choice", "Invalid value for `tool_choice`: a_veces!"),
        ({"type": "function"}, "tool_choice.function", "Invalid value for `function`: `None` in `tool_choice`!"),
        ({"type": "function", "function": {}}, "tool_choice.function.name", "Expected field `name`"),
        ({"type": "function", "function": {"name": ""}}, "tool_choice.function.name", "Invalid `name` in `function`"),
        ({"type": "function", "function": {"name": "g"}}, "tool_choice", "does not match any of the specified `tools`"),
        (FUNCTION, None, 'tool_choice=function "f" requires --tool-call-parser'),
        ("required", None, 'tool_choice="required" requires --tool-call-parser'),
        ("auto", None, '"auto" tool choice requires --enable-auto-tool-choice'),
    ],
)
def test_tool_choices(choice: Any, param: str | None, text: str) -> None:
    error = refusal(SERVING, tools=[FUNCTION], tool_choice=choice)
    assert (error.param, text in error.message) == (param, True), error.message


def test_who_gives_tools_and_chooses_nothing_means_auto() -> None:
    assert "auto" in refusal(SERVING, tools=[FUNCTION]).message
    for choice in ("none", None):
        assert prepare(SERVING, tools=[FUNCTION], tool_choice=choice).choices


def test_a_server_with_a_parser_takes_tools() -> None:
    serving = words(tool_call_parser="hermes")
    for choice in ("auto", "required", FUNCTION):
        assert prepare(serving, tools=[FUNCTION], tool_choice=choice).choices


@pytest.mark.parametrize(
    ("salt", "text"),
    [
        (5, "non-empty string"),
        ("a" * 129, "at most 128 characters"),
        ("a@b", "must not contain '@', '/', '\\\\', or NUL."),
    ],
)
def test_cache_salts(salt: object, text: str) -> None:
    assert text in refusal(SERVING, cache_salt=salt).message
    assert prepare(SERVING, cache_salt="a" * 128).choices[0].cache_salt == "a" * 128


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"prompt_logprobs": "1"}, "`prompt_logprobs` must be an integer. (parameter=prompt_logprobs, value=1)"),
        ({"prompt_logprobs": -2}, "`prompt_logprobs` must be a positive value or -1."),
        ({"top_logprobs": -2, "logprobs": True}, "`top_logprobs` must be a positive value or -1."),
        ({"logprob_token_ids": [1], "use_beam_search": True}, "not supported with beam search"),
        ({"response_format": {"type": "structural_tag"}}, "Invalid response_format structural_tag"),
        ({"structured_outputs": {}}, "none are specified: {'json': None,"),
        ({"response_format": {"type": "json_object"}, "structured_outputs": {"regex": "a"}}, "multiple are specified"),
        ({"structured_outputs": {"grammar": ""}}, "structured_outputs.grammar cannot be an empty string"),
        ({"structured_outputs": {"json_object": False}}, "json_object must be True if set"),
        ({"structured_outputs": {"regex": "a\0"}}, "must not contain a NUL character"),
        ({"allowed_token_ids": [-1]}, "allowed_token_ids contains out-of-vocab token id!"),
        ({"logprobs": True, "top_logprobs": -1}, f"sample logprobs of {2**31}"),
        ({"logprobs": True, "logprob_token_ids": [1] * 129}, "logprob_token_ids of length 129"),
        ({"repetition_detection": {"max_pattern_size": 3, "min_count": 1}}, "min_count must be >= 2"),
        ({"repetition_detection": {"min_pattern_size": 4}}, "min_pattern_size <= max_pattern_size"),
        ({"min_tokens": 6, "max_tokens": 5}, "min_tokens must be less than or equal to max_tokens=5, got 6."),
        ({"n": 16385}, "n must be at most 16384, got 16385."),
        ({"chat_template_kwargs": {"chat_template": "x"}}, "Refused request with untrusted chat template"),
    ],
)  # fmt: skip
def test_further_refusals(fields: dict[str, Any], text: str) -> None:
    assert text in refusal(SERVING, **fields).message


@pytest.mark.parametrize(
    "fields",
    [
        {"logprobs": True, "top_logprobs": 20},
        {"temperature": 0},
        {"temperature": 2},
        {"top_k": -1},
        {"stop": ["a", "b", "c", "d"]},
        {"min_tokens": 5, "max_tokens": 5},
        {"stream_options": {}},
        {"stream": True, "prompt_logprobs": 0},
        {"response_format": {"type": "text"}, "structured_outputs": {"regex": "a"}},
        {"thinking_token_budget": -1},
        {"repetition_detection": {"max_pattern_size": 0, "min_count": 0}},
        {"model": ""},
        {"allowed_token_ids": [2**31 - 1]},
        {"truncate_prompt_tokens": 100},
        {"max_tokens": 100},
    ],
)
def test_what_lies_just_inside_is_accepted(fields: dict[str, Any]) -> None:
    assert prepare(SERVING, **fields).choices


def test_0_30_trusts_media_arguments_and_lists_no_aliases() -> None:
    serving = words("0.30")
    assert prepare(serving, mm_processor_kwargs={"a": 1}, messages=HOLA).choices
    assert refusal(serving, model="x").message == "The model `x` does not exist."


@pytest.mark.parametrize(
    "fields",
    [{"logprobs": True, "top_logprobs": 21}, {"stop_token_ids": [-1]}, {"truncate_prompt_tokens": 0}],
)
def test_the_engine_refuses_at_once_and_inside_a_stream_after_it_began(fields: dict[str, Any]) -> None:
    error = refusal(SERVING, **fields)
    prepared = prepare(SERVING, stream=True, **fields)
    assert prepared.failure is not None
    assert (prepared.stream, list(prepared.choices)) == (True, [])
    assert prepared.answer.failure(prepared.failure) == b"data: " + error.body() + b"\n\ndata: [DONE]\n\n"
