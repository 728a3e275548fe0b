"""What chat request becomes of an Anthropic one."""

from typing import Any

import pytest

from mockvllm.wire.chat_request import tool_definition
from mockvllm.wire.messages_api_chat import chat_request
from mockvllm.wire.messages_api_request import AnthropicCountTokensRequest, AnthropicMessagesRequest

TOOL = {"name": "f", "input_schema": {"properties": {}}}


def made(messages: list[Any] | None = None, **fields: Any) -> Any:
    least = {"model": "m", "max_tokens": 9, "messages": messages or [{"role": "user", "content": "hola"}]}
    return chat_request(AnthropicMessagesRequest.parse({**least, **fields}), lambda: "low")


def test_parameters_keep_their_meaning() -> None:
    chat = made(temperature=1, top_p=0.5, top_k=7, stop_sequences=["a"], stream=True, metadata={"user_id": "u"})
    assert (chat.temperature, chat.top_p, chat.top_k, chat.stop, chat.stream) == (1.0, 0.5, 7, ["a"], True)
    assert (chat.max_tokens, chat.max_completion_tokens) == (9, 9)
    assert "metadata" not in chat.given


@pytest.mark.parametrize(
    ("choice", "expected", "parallel"),
    [
        ({"type": "auto"}, "auto", True),
        ({"type": "any", "disable_parallel_tool_use": True}, "required", False),
        ({"type": "none"}, "none", True),
    ],
)
def test_a_choice_of_tools(choice: dict[str, Any], expected: str, parallel: bool) -> None:
    chat = made(tools=[TOOL], tool_choice=choice)
    assert (chat.tool_choice, chat.parallel_tool_calls) == (expected, parallel)


def test_a_named_tool() -> None:
    assert made(tools=[TOOL], tool_choice={"type": "tool", "name": "f"}).tool_choice.function.name == "f"


def test_a_tool_is_a_function_whose_schema_is_an_object() -> None:
    (tool,) = made(tools=[{**TOOL, "description": "x", "strict": True}]).tools
    parameters = {"properties": {}, "type": "object"}
    function = {"name": "f", "description": "x", "parameters": parameters, "strict": True}
    assert tool_definition(tool) == {"type": "function", "function": function}


def test_no_tools_is_no_tools() -> None:
    assert made(tools=[]).tools == []
    assert made().tools is None


def test_an_output_format_and_an_effort() -> None:
    chat = made(output_config={"effort": "low", "format": {"type": "json_schema", "schema": {"type": "string"}}})
    assert chat.reasoning_effort == "low"
    assert chat.response_format.json_schema.json_schema == {"type": "string"}


@pytest.mark.parametrize(
    ("thinking", "effort", "budget"),
    [
        ({"type": "enabled", "budget_tokens": 2048}, "high", 2048),
        ({"type": "disabled"}, "low", None),
        ({"type": "adaptive"}, "high", None),
        (None, "high", None),
    ],
)
def test_what_thinking_becomes(thinking: Any, effort: str, budget: int | None) -> None:
    chat = made(thinking=thinking, output_config={"effort": "high"})
    assert (chat.reasoning_effort, chat.thinking_token_budget) == (effort, budget)
    counted = AnthropicCountTokensRequest.parse({"model": "m", "messages": [], "thinking": thinking})
    asked = chat_request(counted, lambda: "low")
    assert asked.reasoning_effort == ("low" if thinking == {"type": "disabled"} else None)


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("hola", [{"role": "user", "content": "hola"}]),
        ([text("hola")], [{"role": "user", "content": "hola"}]),
        ([text("a"), text("b")], [{"role": "user", "content": [text("a"), text("b")]}]),
        ([text("")], []),
        (
            [{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA"}}],
            [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}}]}],
        ),
        (
            [text("antes"), {"type": "tool_result", "tool_use_id": "t1", "content": "20 grados"}],
            [{"role": "tool", "tool_call_id": "t1", "content": "20 grados"}, {"role": "user", "content": "antes"}],
        ),
        (
            [{"type": "tool_result", "tool_use_id": "t1", "content": [text("a"), text("b")]}],
            [{"role": "tool", "tool_call_id": "t1", "content": "a\nb"}],
        ),
        (
            [{"type": "tool_result", "content": [{"type": "image", "source": {"type": "url", "url": "u"}}]}],
            [
                {"role": "tool", "tool_call_id": "", "content": ""},
                {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "u"}}]},
            ],
        ),
    ],
)
def test_what_a_user_says(content: Any, expected: list[Any]) -> None:
    chat = made([{"role": "user", "content": content}, {"role": "user", "content": "y"}])
    assert list(map(_listed, chat.messages)) == [*expected, {"role": "user", "content": "y"}]


def _listed(message: Any) -> dict[str, Any]:
    """Pydantic validates some parts only as they are read."""
    content = message["content"]
    return {**message, "content": content if isinstance(content, str) else [dict(part) for part in content]}


def test_what_the_assistant_said_is_one_message() -> None:
    blocks = [
        {"type": "thinking", "thinking": "a ver"},
        {"type": "redacted_thinking", "data": "xx"},
        text("Voy."),
        {"type": "tool_use", "id": "t1", "name": "f", "input": {"x": 1}},
    ]
    (_, said) = made([{"role": "user", "content": "hola"}, {"role": "assistant", "content": blocks}]).messages
    assert (said["role"], said["reasoning"], said["content"]) == ("assistant", "a ver", "Voy.")
    (call,) = said["tool_calls"]
    assert call == {"id": "t1", "type": "function", "function": {"name": "f", "arguments": '{"x": 1}'}}


def test_counting_knows_no_limits() -> None:
    request = AnthropicCountTokensRequest.parse({"model": "m", "messages": [], "system": "hola"})
    chat = chat_request(request, lambda: "low")
    assert chat.messages == [{"role": "system", "content": "hola"}]
    assert chat.max_completion_tokens is None
