from typing import Any

import pytest
from chat_client import prepare, words

from mockvllm.wire.chat_request import ChatCompletionRequest
from mockvllm.wire.conversation import parse_chat_messages
from mockvllm.wire.errors import APIError


def conversation(*messages: Any, takes_parts: bool = False) -> list[dict[str, Any]]:
    request = ChatCompletionRequest.parse({"messages": list(messages)})
    return parse_chat_messages(request.messages, "m", takes_parts=takes_parts)


def refusal(*messages: Any) -> APIError:
    with pytest.raises(APIError) as error:
        conversation(*messages)
    return error.value


def user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


def test_plain_messages_pass_as_they_are() -> None:
    assert conversation(user("hola")) == [user("hola")]


@pytest.mark.parametrize("role", ["user", "system", "assistant", "tool"])
def test_texts_of_parts_are_joined_by_lines(role: str) -> None:
    parts = [{"type": "text", "text": "uno"}, {"type": "text", "text": "dos"}]
    (message,) = conversation({"role": role, "content": parts, "tool_call_id": "x"})
    assert message["content"] == "uno\ndos"
    (message,) = conversation({"role": role, "content": parts, "tool_call_id": "x"}, takes_parts=True)
    assert message["content"] == parts


def test_a_text_is_one_part_for_who_takes_parts() -> None:
    assert conversation(user("hola"), takes_parts=True) == [user([{"type": "text", "text": "hola"}])]


@pytest.mark.parametrize("message", [{"role": "user"}, {"role": "assistant", "content": None}])
def test_no_content_is_an_empty_one(message: dict[str, Any]) -> None:
    assert conversation(message) == [{**message, "content": ""}]


def test_the_other_name_of_reasoning_is_understood() -> None:
    (message,) = conversation({"role": "assistant", "content": "vale", "reasoning_content": "pienso"})
    assert message == {"role": "assistant", "content": "vale", "reasoning": "pienso"}


@pytest.mark.parametrize(("arguments", "parsed"), [('{"a": 1}', {"a": 1}), ("", {}), ("{mal", {}), ('"x"', "x")])
def test_arguments_become_data(arguments: str, parsed: Any) -> None:
    call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": arguments}}
    (message,) = conversation({"role": "assistant", "content": None, "tool_calls": [call]})
    assert message["tool_calls"][0]["function"] == {"name": "f", "arguments": parsed}


@pytest.mark.parametrize(
    ("calls", "param", "text"),
    [
        (5, None, "'int' object is not iterable"),
        ([5], "tool_calls", "assistant tool_calls entries must be objects."),
        ([{"type": "custom"}], "tool_calls", "only support assistant tool_calls of type 'function'"),
    ],
)
def test_calls_that_are_none_are_refused(calls: Any, param: str | None, text: str) -> None:
    error = refusal({"role": "assistant", "tool_calls": calls})
    assert (error.type, error.param, text in error.message) == ("BadRequestError", param, True)


@pytest.mark.parametrize(
    ("kind", "part"),
    [
        ("image_url", {"image_url": {"url": "http://x"}}),
        ("input_audio", {"input_audio": {"data": "", "format": "wav"}}),
    ],
)
def test_media_is_refused_in_the_model_s_name(kind: str, part: dict[str, Any]) -> None:
    assert refusal(user([{"type": kind, **part}])).message == "m is not a multimodal model"


def test_a_file_is_no_supported_part() -> None:
    error = refusal(user([{"type": "file", "file": {"file_id": "f"}}]))
    assert error.param == "type"
    assert error.message.startswith("Unsupported chat content part type: 'file'. Supported types: audio_embeds, ")
    assert error.message.endswith(", video_url. (parameter=type, value=file)")


@pytest.mark.parametrize(
    ("content", "count"),
    [([{"type": "magia", "text": ""}], 7), ([{}], 8), (["hola"], 4), ({"text": "x"}, 4), ([{"type": "text"}], 7)],
)
def test_a_part_of_no_kind_gets_pydantic_s_own_words(content: Any, count: int) -> None:
    error = refusal(user(content))
    assert error.message.startswith(f"{count} validation errors for ValidatorIterator\n0.ChatCompletionContentPartText")
    assert "https://errors.pydantic.dev/2.14/v/" in error.message


@pytest.mark.parametrize(("content", "count"), [(None, 19), (5, 22)])
def test_a_content_of_no_type_fails_in_every_branch(content: Any, count: int) -> None:
    error = refusal(user(content))
    assert error.message.startswith(f"{count} validation errors:")
    assert error.param == "body.messages.0.ChatCompletionDeveloperMessageParam.content"


def test_any_role_is_taken() -> None:
    assert conversation({"role": "pirata", "content": "hola", "name": "x"})[0]["role"] == "pirata"
    assert conversation({"role": "tool", "content": "x"})[0]["content"] == "x"


def test_the_tokens_of_a_prompt_are_the_words_of_all_messages() -> None:
    messages = [
        {"role": "system", "content": "uno dos"},
        user("tres cuatro cinco"),
        user([{"type": "text", "text": "seis"}]),
    ]
    assert prepare(words(), messages=messages).answer.num_prompt_tokens == 6
