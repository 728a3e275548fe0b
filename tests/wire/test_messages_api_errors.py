"""Which requests /v1/messages refuses, in which of its two shapes."""

import json
from typing import Any

import pytest
from api_client import events, messages_api, prepare, refusal, whole

from mockvllm.wire.errors import APIError

MESSAGE = [{"role": "user", "content": "hola"}]
THINKING = {"type": "enabled", "budget_tokens": 1024}


@pytest.mark.parametrize(
    ("fields", "param", "words"),
    [
        ({"max_tokens": ...}, "body.max_tokens", "'type': 'missing'"),
        ({"messages": ...}, "body.messages", "<dict of 2 items>"),
        ({"max_tokens": 0}, "body.max_tokens", "'ctx': {'error': ValueError('max_tokens must be positive')}"),
        ({"max_tokens": -7}, "body.max_tokens", "'input': '-7'"),
        ({"model": ""}, "body.model", "Value error, Model is required"),
        ({"model": 5}, "body.model", "string_type"),
        ({"messages": [{"role": "tool", "content": "x"}]}, "body.messages.0.role", "'user', 'assistant' or 'system'"),
        ({"messages": [{"role": "user", "content": [{"type": "song"}]}]}, "body.messages.0.content", "song"),
        ({"stop_sequences": list("abcde")}, "body.stop_sequences", "at most 4 items"),
        ({"tools": [{"name": "f"}]}, "body.tools.0.input_schema", "missing"),
        ({"tool_choice": {"type": "tool"}}, "body.tool_choice", "tool_choice.name is required when type is 'tool'"),
        ({"thinking": {"type": "deep"}}, "body.thinking", "union_tag_invalid"),
        ({"thinking": {"type": "enabled", "budget_tokens": 5}}, "body.thinking.enabled.budget_tokens", "'ge': 1024"),
        ({"thinking": THINKING}, "body", "thinking.budget_tokens must be less than max_tokens"),
    ],
)
def test_bodies_that_are_not_valid_are_answered_as_elsewhere(fields: dict[str, Any], param: str, words: str) -> None:
    error = json.loads(refusal(messages_api(), **fields).body())["error"]
    assert (error["type"], error["param"], error["code"]) == ("Bad Request", param, 400)
    assert words in error["message"]


@pytest.mark.parametrize(
    ("fields", "status", "kind", "vllm_kind", "words"),
    [
        ({"messages": []}, 400, "invalid_request_error", "BadRequestError", "empty conversation"),
        ({"temperature": 3}, 400, "invalid_request_error", "BadRequestError", "temperature must be in [0, 2], got 3.0"),
        ({"max_tokens": 9000}, 400, "invalid_request_error", "BadRequestError", "max_completion_tokens=9000 cannot"),
        ({"model": "nope"}, 404, "not_found_error", "NotFoundError", "The model `nope` does not exist."),
        ({"cache_salt": "a@b"}, 400, "invalid_request_error", "BadRequestError", "Parameter 'cache_salt'"),
        (
            {"messages": [{"role": "user", "content": [{"type": "image", "source": {"type": "url", "url": "u"}}]}]},
            400,
            "invalid_request_error",
            "BadRequestError",
            "m is not a multimodal model",
        ),
    ],
)
def test_later_errors_have_anthropic_s_shape(
    fields: dict[str, Any], status: int, kind: str, vllm_kind: str, words: str
) -> None:
    for profile, expected in (("0.33", kind), ("0.32", vllm_kind), ("0.30", vllm_kind)):
        error = refusal(messages_api(profile), **fields)
        body = json.loads(error.body())
        assert (error.status, body["type"], list(body["error"])) == (status, "error", ["type", "message"])
        assert body["error"]["type"] == expected
        assert words in body["error"]["message"]


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (401, "authentication_error"),
        (403, "permission_error"),
        (413, "request_too_large"),
        (429, "rate_limit_error"),
        (503, "overloaded_error"),
        (500, "api_error"),
        (422, "invalid_request_error"),
    ],
)
def test_a_failure_inside_a_stream_closes_the_open_block_and_ends_it(status: int, kind: str) -> None:
    prepared = prepare(messages_api(), stream=True)
    opened = prepared.answer.chunks(0, 2)
    assert len(events(opened)) == 4
    stop, error = events(prepared.answer.failure(APIError(status, "no more")))
    assert stop == {"type": "content_block_stop", "index": 0}
    assert error == {"type": "error", "error": {"type": kind, "message": "no more"}}


def test_the_engine_s_refusal_of_a_stream_is_its_only_event() -> None:
    prepared = prepare(messages_api(), (b"x-data-parallel-rank", b"7"), stream=True)
    assert prepared.failure is not None
    assert not prepared.answer.cut_by_failure
    (error,) = events(prepared.answer.failure(prepared.failure))
    assert error["error"]["type"] == "invalid_request_error"


@pytest.mark.parametrize(("profile", "status"), [("0.30", 200), ("0.32", 400), ("0.33", 400)])
def test_thinking_is_unknown_to_0_30(profile: str, status: int) -> None:
    serving = messages_api(profile)
    if status == 200:
        assert whole(serving, thinking={"type": "nonsense"})["stop_reason"] == "end_turn"
    else:
        assert refusal(serving, thinking={"type": "nonsense"}).status == status


@pytest.mark.parametrize(("profile", "status"), [("0.30", 200), ("0.32", 400), ("0.33", 400)])
def test_a_budget_of_thinking_is_one_of_the_chat(profile: str, status: int) -> None:
    """So it needs a server that tells reasoning apart."""
    asked = {"thinking": THINKING, "max_tokens": 2000}
    assert whole(messages_api(profile, reasoning_parser="qwen3"), **asked)["stop_reason"] == "end_turn"
    if status == 200:
        assert whole(messages_api(profile), **asked)["stop_reason"] == "end_turn"
    else:
        assert "thinking_token_budget is set" in refusal(messages_api(profile), **asked).message
