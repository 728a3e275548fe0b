"""Which requests /v1/responses refuses, in which order, and how it says so."""

import subprocess
import sys
from typing import Any

import pytest
from api_client import refusal, responses_api, whole

TOOL = {"type": "function", "name": "f", "parameters": {"type": "object"}}
NAMESPACE = {"type": "namespace", "name": "n", "description": "d", "tools": [TOOL]}


@pytest.mark.parametrize(
    ("fields", "kind", "param", "words"),
    [
        ({"input": ...}, "Bad Request", "body.input", "<dict of 1 items>"),
        ({"input": 5}, "Bad Request", "body.input", "2 validation errors"),
        ({"presence_penalty": 3}, "Bad Request", "body.presence_penalty", "less than or equal to 2"),
        ({"include": ["all"]}, "Bad Request", "body.include.0", "literal_error"),
        ({"stop": list("abcde")}, "Bad Request", "body.stop", "at most 4 items"),
        ({"text": {"format": {"type": "xml"}}}, "Bad Request", "body.text.format.ResponseFormatText.type", "xml"),
        ({"tool_choice": "maybe"}, "Bad Request", "body.tool_choice", "9 validation errors"),
        ({"prompt": {"id": "x"}}, "BadRequestError", "prompt", "prompt template is not supported (parameter=prompt)"),
        ({"background": True, "store": False}, "BadRequestError", "background", "only be used when `store` is true"),
        ({"tool_choice": "required"}, "BadRequestError", "tool_choice", "must be specified with 'tools' parameter."),
        (
            {"tool_choice": {"type": "function", "name": "g"}, "tools": [TOOL]},
            "BadRequestError",
            "tool_choice",
            "Tool choice 'function' not found in 'tools' parameter.",
        ),
        ({"background": True}, "invalid_request_error", "background", "VLLM_ENABLE_RESPONSES_API_STORE=1"),
        (
            {"previous_input_messages": [{}], "previous_response_id": "x"},
            "invalid_request_error",
            "previous_response_id",
            "Only one of `previous_input_messages` and `previous_response_id` can be set.",
        ),
        ({"max_output_tokens": 0}, "BadRequestError", "max_tokens", "max_tokens must be at least 1, got 0."),
        ({"max_output_tokens": 9000}, "BadRequestError", "max_output_tokens", "max_output_tokens=9000 cannot be"),
        ({"temperature": -1}, "BadRequestError", "temperature", "(parameter=temperature, value=-1.0)"),
        ({"input": []}, "BadRequestError", None, "empty conversation"),
        (
            {"input": [{"role": "user", "content": [{"type": "input_image", "detail": "auto", "image_url": "u"}]}]},
            "BadRequestError",
            None,
            "m is not a multimodal model",
        ),
        (
            {"structured_outputs": {"regex": "a"}, "text": {"format": {"type": "json_object"}}},
            "BadRequestError",
            "structured_outputs",
            "Cannot specify both structured_outputs and text.format",
        ),
        ({"cache_salt": ""}, "Bad Request", "body.cache_salt", "at least 1 character"),
        (
            {"include": ["message.output_text.logprobs"], "top_logprobs": 21},
            "BadRequestError",
            "logprobs",
            "which is greater than max allowed: 20",
        ),
    ],
)
def test_what_is_refused(fields: dict[str, Any], kind: str, param: str | None, words: str) -> None:
    error = refusal(responses_api(), **fields)
    assert (error.status, error.type, error.param) == (400, kind, param)
    assert words in error.message


@pytest.mark.parametrize("length", [8, 9, 30])
def test_a_prompt_that_leaves_no_room(length: int) -> None:
    error = refusal(responses_api(max_model_len=8), input="una " * length)
    if length == 8:
        text = "The engine prompt length 8 exceeds the max_model_len 8. Please reduce prompt."
        assert (error.message, error.type, error.param) == (text, "invalid_request_error", "input")
    else:
        assert error.param == "input_tokens"


def test_truncation_makes_room() -> None:
    answer = whole(responses_api(max_model_len=20), input="una " * 30, truncation="auto")
    assert answer["usage"]["input_tokens"] == 19
    assert (answer["truncation"], answer["max_output_tokens"]) == ("auto", 1)


@pytest.mark.parametrize(
    ("fields", "status", "words"),
    [
        ({"previous_response_id": "resp_x"}, 404, "Response with id 'resp_x' not found."),
        ({"model": "n", "previous_response_id": "resp_x"}, 404, "The model `n` does not exist."),
        ({"model": "n", "background": True}, 404, "The model `n` does not exist."),
        ({"model": "n", "prompt": {"id": "x"}}, 400, "prompt template"),
        ({"background": True, "store": False, "prompt": {"id": "x"}}, 400, "prompt template"),
        ({"tool_choice": "required", "prompt": {"id": "x"}}, 400, "Tool choice"),
        ({"previous_response_id": "x", "temperature": 9}, 404, "not found"),
    ],
)
def test_which_failure_comes_first(fields: dict[str, Any], status: int, words: str) -> None:
    error = refusal(responses_api(), **fields)
    assert error.status == status
    assert words in error.message


@pytest.mark.parametrize("name", ["f", "n__f"])
def test_functions_in_a_namespace_are_called_by_either_name(name: str) -> None:
    answer = whole(responses_api(), tools=[NAMESPACE], tool_choice={"type": "function", "name": name})
    assert answer["tools"][0]["tools"][0]["name"] == "f"


def test_tools_need_no_parser() -> None:
    answer = whole(responses_api(), tools=[TOOL], max_output_tokens=1)
    assert (answer["tool_choice"], answer["output"][0]["type"]) == ("auto", "message")


@pytest.mark.parametrize(("profile", "refused"), [("0.30", False), ("0.32", True), ("0.33", True)])
def test_fields_that_a_release_does_not_know_are_ignored(profile: str, refused: bool) -> None:
    serving = responses_api(profile)
    if refused:
        assert "min_p must be in [0, 1], got 7.0." in refusal(serving, min_p=7).message
    else:
        assert whole(serving, min_p=7)["status"] == "completed"


def test_an_unusual_item_is_validated_by_the_openai_package() -> None:
    """61 types of items; the first ten failures are shown."""
    error = refusal(responses_api(), input=[{"role": "robot", "content": "x"}])
    assert (error.type, error.param) == ("Bad Request", "body.input")
    first, second, third, *_ = error.message.splitlines()[1:]
    assert "'string_type', 'loc': 'body.input'" in first
    assert "'loc': 'body.input.0.EasyInputMessageParam.role'" in second
    assert "'loc': 'body.input.0.Message.content'" in third
    assert error.message.splitlines()[-1].startswith("  ...and ")


def test_a_tool_without_a_name() -> None:
    error = refusal(responses_api(), tools=[{"type": "function"}])
    assert error.param == "body.tools.0.FunctionTool.name"


WITHOUT_OPENAI = """
import sys
sys.modules["openai"] = None
from mockvllm.wire.responses_openai import check_items, check_tools
print(check_items([{"type": "item_of_tomorrow"}]), check_tools([{"type": "tool_of_tomorrow"}]))
"""


def test_without_the_openai_package_any_object_is_an_item() -> None:
    argv = [sys.executable, "-c", WITHOUT_OPENAI]
    printed = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=True).stdout
    assert printed == "[{'type': 'item_of_tomorrow'}] [{'type': 'tool_of_tomorrow'}]\n"


def test_the_usual_items_do_without_it() -> None:
    usual = "from mockvllm.wire.responses_openai import check_items; import sys; "
    usual += "check_items([{'role': 'user', 'content': 'hola'}, {'role': 'user', 'type': 'message', 'content': []}]); "
    usual += "sys.exit('openai' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", usual], timeout=60).returncode == 0
