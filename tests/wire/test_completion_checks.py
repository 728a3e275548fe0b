"""What /v1/completions refuses, with vLLM's words, and what it looks at first."""

from typing import Any

import pytest
from chat_client import JSON
from completion_client import completions, prepare, refusal, stream, whole

from mockvllm.wire.completion_request import CompletionRequest
from mockvllm.wire.errors import APIError

SERVING = completions()
MANY = "To increase this limit, set the VLLM_MAX_COMPLETION_PROMPTS environment variable. (parameter=prompt)"
NOTHING = "Either prompt or prompt_embeds must be provided and non-empty. (parameter=prompt)"


@pytest.mark.parametrize("prompt", [None, ""])
def test_there_must_be_a_prompt(prompt: str | None) -> None:
    error = refusal(SERVING, prompt=prompt, stream_options={"include_usage": True}, logprobs=-9, model="x")
    assert (error.message, error.param, error.type) == (NOTHING, "prompt", "BadRequestError")
    assert refusal(SERVING, prompt=prompt, prompt_embeds=[]).message == NOTHING


@pytest.mark.parametrize(("profile", "suffix"), [("0.30", ""), ("0.32", ""), ("0.33", " (parameter=prompt)")])
def test_a_list_of_prompts_must_hold_one(profile: str, suffix: str) -> None:
    serving = completions(profile)
    assert refusal(serving, prompt=[], model="m").message == f"You must pass at least one prompt{suffix}"
    assert refusal(serving, prompt=[], model="x").status == 404
    assert refusal(serving, prompt=[[]]).message == "The decoder prompt cannot be empty"


def test_a_list_of_prompts_is_bounded_but_not_a_list_of_tokens() -> None:
    serving = completions(max_completion_prompts=3)
    ids = list(serving.config.tokenizer.encode("a b c d"))
    assert whole(serving, prompt=ids, max_tokens=1)["usage"]["prompt_tokens"] == 4
    assert len(whole(serving, prompt=["a"] * 3, max_tokens=1)["choices"]) == 3
    message = f"prompt list length 4 exceeds the maximum allowed count of 3. {MANY}"
    assert refusal(serving, prompt=["a"] * 4).message == message
    assert refusal(serving, prompt=[[1]] * 4).message == message
    assert refusal(serving, prompt="a", prompt_embeds=["x"] * 4).param == "prompt_embeds"


@pytest.mark.parametrize(
    ("prompt", "param", "types"),
    [
        (5, "body.prompt", ["list_type", "list_type", "string_type", "list_type"]),
        ([-1], "body.prompt.0", ["greater_than_equal", "list_type", "string_type", "string_type"]),
        ([1, "a"], "body.prompt.1", ["int_parsing", "list_type", "list_type", "string_type", "string_type"]),
        ([["a"]], "body.prompt.0", ["int_type", "int_parsing", "string_type", "string_type"]),
        ({}, "body.prompt", ["list_type", "list_type", "string_type", "list_type"]),
    ],
)
def test_what_is_no_prompt_is_none_of_four_forms(prompt: Any, param: str, types: list[str]) -> None:
    error = refusal(SERVING, prompt=prompt)
    assert error.type == "Bad Request"
    assert error.param == param
    assert [line.split("'")[3] for line in error.message.split("\n  ")[1:]] == types


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"logprobs": -2}, "`logprobs` must be a positive value or -1. (parameter=logprobs, value=-2)"),
        ({"logprobs": "1"}, "`logprobs` must be an integer. (parameter=logprobs, value=1)"),
        ({"prompt_logprobs": "1", "logprobs": "2"}, "`prompt_logprobs` must be an integer."),
        ({"prompt_logprobs": -5, "logprobs": "2"}, "`logprobs` must be an integer."),
        ({"prompt_logprobs": 1, "stream": True}, "`prompt_logprobs` are not available when `stream=True`."),
        ({"logprob_token_ids": [1]}, "when using `logprob_token_ids`, `logprobs` must be set."),
        (
            {"logprob_token_ids": [1], "echo": True, "max_tokens": 0},
            "`logprob_token_ids` is not supported when `echo=True` and `max_tokens=0` because no output tokens are",
        ),
        ({"logprob_token_ids": [1], "use_beam_search": True}, "`logprob_token_ids` is not supported with beam search."),
        ({"stream_options": {"include_usage": True}}, "Stream options can only be defined when `stream=True`."),
        (
            {"structured_outputs": {"json": {}, "regex": "a"}},
            "You can only use one kind of constraints for structured outputs ('json', 'regex' or 'choice'). "
            "(parameter=structured_outputs)",
        ),
        ({"response_format": {"type": "json_schema"}}, "When response_format type is 'json_schema', the 'json_schema'"),
        ({"cache_salt": ""}, "Parameter 'cache_salt' must be a non-empty string if provided."),
        ({"logprobs": 21}, "Requested sample logprobs of 21, which is greater than max allowed: 20"),
        ({"echo": True, "logprobs": 21}, "Requested sample logprobs of 21"),
        ({"max_tokens": 0}, "max_tokens must be at least 1, got 0. (parameter=max_tokens, value=0)"),
        ({"max_tokens": 8193}, "max_tokens=8193 cannot be greater than max_model_len=8192."),
        ({"stream": True, "use_beam_search": True, "model": "x"}, "Streaming is not currently supported with beam"),
        ({"prompt": [2**31]}, "Token id 2147483648 is out of vocabulary"),
        ({"prompt": [[5], [2**40, 1]]}, f"Token id {2**40} is out of vocabulary"),
        ({"prompt_embeds": "AAAA"}, "You must set `--enable-prompt-embeds` to input `prompt_embeds`."),
        ({"prompt_embeds": "AAAA", "echo": True}, "Echo is unsupported with prompt embeds."),
        ({"prompt_embeds": "AAAA", "prompt_logprobs": 1}, "prompt_logprobs is not compatible with prompt embeds."),
    ],
)
def test_refusals(fields: dict[str, Any], message: str) -> None:
    error = refusal(SERVING, **fields)
    assert error.message.startswith(message)
    assert (error.status, error.type) == (400, "BadRequestError")


@pytest.mark.parametrize(
    ("profile", "message", "param"),
    [
        ("0.30", "suffix is not currently supported", None),
        ("0.32", "suffix is only supported for models with FIM completion rendering", "suffix"),
        ("0.33", "suffix is only supported for models with FIM completion rendering", "suffix"),
    ],
)
@pytest.mark.parametrize("further", [{}, {"echo": True}, {"prompt": [1, 2]}, {"prompt_embeds": "AAAA"}])
def test_a_suffix_is_refused_whatever_else_is_asked(
    profile: str, message: str, param: str | None, further: dict[str, Any]
) -> None:
    error = refusal(completions(profile), suffix="x", **further)
    assert (error.message, error.param) == (message, param)


ORDER: list[dict[str, Any]] = [
    {"prompt": ["a", "b"]},
    {"prompt": "uno", "stream_options": {"include_usage": True}},
    {"logprob_token_ids": [1]},
    {"prompt_logprobs": "x"},
    {"prompt_logprobs": None, "logprobs": -3},
    {"structured_outputs": {"json": {}, "regex": "a"}},
    {"response_format": {"type": "json_schema"}},
    {"cache_salt": ""},
    {"temperature": "x"},
    {"model": "x"},
    {"suffix": "x"},
    {"max_tokens": 9000},
    {"top_p": 7},
    {"logit_bias": {"-1": 1}},
]
"""Each is refused for another reason, in vLLM's order."""


def test_the_first_reason_in_vllm_s_order_is_told() -> None:
    serving = completions(max_completion_prompts=1)
    everything: dict[str, Any] = {}
    for fields in reversed(ORDER):
        everything.update(fields)
        if fields == {"logprob_token_ids": [1]}:
            everything["logprobs"] = None
        alone = refusal(serving, **{"prompt": "uno", **fields})
        together = refusal(serving, **{"prompt": "uno", **everything})
        assert (together.message, together.param) == (alone.message, alone.param), fields


def test_wrong_fields_are_listed_in_the_order_of_their_declaration() -> None:
    names = ["prompt", "echo", "logprobs", "n", "temperature", "allowed_token_ids", "add_special_tokens"]
    body = {name: {} for name in reversed(names)} | {"logprobs": 1.5}
    with pytest.raises(APIError) as error:
        CompletionRequest.parse(body)
    located = [line.split("'loc': 'body.")[1].split("'")[0] for line in error.value.message.split("\n  ")[1:]]
    assert list(dict.fromkeys(located)) == names


@pytest.mark.parametrize(
    ("fields", "kind"), [({"logprobs": 21}, "BadRequestError"), ({"prompt": ["a", ""]}, "BadRequestError")]
)
@pytest.mark.parametrize("profile", ["0.30", "0.32", "0.33"])
def test_what_the_engine_refuses_is_an_event_with_spaces(fields: dict[str, Any], kind: str, profile: str) -> None:
    from wire_harness import run

    prepared = prepare(completions(profile), stream=True, **fields)
    first, last, _ = run(prepared).decode().split("\n\n")
    assert first.startswith('data: {"error": {"message": "')
    assert f'"type": "{kind}", "param": ' in first
    assert last == "data: [DONE]"


def test_headers_go_before_fields_if_they_are_numbers() -> None:
    body = b'{"prompt": "uno", "priority": 4}'
    for header, priority in ((b"-3", -3), (b"x", 4), (b"", 4)):
        assert SERVING.prepare(body, [JSON, (b"x-vllm-priority", header)], 0.0).choices[0].priority == priority
    assert SERVING.prepare(body, [JSON, (b"x-data-parallel-rank", b"x")], 0.0).choices
    with pytest.raises(APIError, match=r"data_parallel_rank 5 is out of range \[0, 1\)"):
        SERVING.prepare(body, [JSON, (b"x-data-parallel-rank", b"5")], 0.0)


def test_the_window_holds_each_prompt_for_itself() -> None:
    serving = completions(max_model_len=10)
    assert len(whole(serving, prompt=["a b c"] * 5, max_tokens=2)["choices"]) == 5
    error = refusal(serving, prompt=["a", "a " * 30], max_tokens=2)
    assert "your prompt contains at least 11 input tokens" in error.message
    assert "contains 12 input tokens" in refusal(serving, prompt=[[1], [2] * 12], max_tokens=2).message
    assert whole(serving, prompt=[2] * 8, max_tokens=5)["usage"]["completion_tokens"] == 2
    old = completions("0.30", max_model_len=10)
    assert "you requested 5 output tokens" in refusal(old, prompt=[2] * 8, max_tokens=5).message


@pytest.mark.parametrize(("side", "kept"), [(None, [3, 4, 5]), ("left", [3, 4, 5]), ("right", [1, 2, 3])])
def test_tokens_are_cut_at_the_side_that_is_asked_for(side: str | None, kept: list[int]) -> None:
    fields = {"truncate_prompt_tokens": 3, "truncation_side": side, "return_token_ids": True, "max_tokens": 1}
    assert whole(SERVING, prompt=[1, 2, 3, 4, 5], **fields)["choices"][0]["prompt_token_ids"] == kept
    assert stream(SERVING, prompt=[1, 2], **fields)[0]["choices"][0]["prompt_token_ids"] == [1, 2]
