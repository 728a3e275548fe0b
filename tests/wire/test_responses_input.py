"""What chat request becomes of a request for a response, and which items are told by their shape."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai.types.responses import ResponseInputItemParam, ResponseOutputItem
from pydantic import TypeAdapter, ValidationError

from mockvllm.wire.chat_request import tool_definition
from mockvllm.wire.errors import APIError
from mockvllm.wire.responses_chat import chat_request
from mockvllm.wire.responses_input import continues_last_message, input_messages, output_messages
from mockvllm.wire.responses_request import ResponsesRequest
from mockvllm.wire.responses_shapes import is_usual_item

ITEMS: TypeAdapter[Any] = TypeAdapter(ResponseInputItemParam | ResponseOutputItem)
USER = {"role": "user", "content": "hola"}
SAID = {
    "type": "message",
    "role": "assistant",
    "id": "msg_1",
    "status": "completed",
    "content": [{"type": "output_text", "text": "Voy.", "annotations": []}],
}
THOUGHT = {"type": "reasoning", "id": "rs_1", "summary": [], "content": [{"type": "reasoning_text", "text": "a ver"}]}
CALL = {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"}
RESULT = {"type": "function_call_output", "call_id": "c1", "output": "20"}


def made(**fields: Any) -> Any:
    return chat_request(ResponsesRequest.parse({"input": "hola", **fields}), ())


def test_parameters_keep_their_meaning() -> None:
    chat = made(max_output_tokens=5, temperature=1, stop="a", seed=3, stream=True, priority=2, user="u")
    assert (chat.max_completion_tokens, chat.temperature, chat.stop, chat.seed) == (5, 1.0, "a", 3)
    assert (chat.stream, chat.priority, chat.add_special_tokens) == (True, 2, True)
    assert "user" not in chat.given


def test_instructions_stand_before_what_was_said() -> None:
    request = ResponsesRequest.parse({"input": "hola", "instructions": "breve"})
    messages = chat_request(request, [{"role": "user", "content": "antes"}]).messages
    assert [message["content"] for message in messages] == ["breve", "antes", "hola"]


@pytest.mark.parametrize(
    ("choice", "expected"),
    [("auto", "auto"), ("required", "required"), ("none", "none"), ({"type": "image_generation"}, "auto")],
)
def test_a_choice_of_tools(choice: Any, expected: str) -> None:
    tool = {"type": "function", "name": "f", "parameters": {"type": "object"}}
    assert made(tools=[tool], tool_choice=choice).tool_choice == expected


def test_a_function_is_shown_to_the_template_without_what_is_unset() -> None:
    (tool,) = made(tools=[{"type": "function", "name": "f", "parameters": {"type": "object"}}]).tools
    function = {"name": "f", "description": None, "parameters": {"type": "object"}}
    assert tool_definition(tool) == {"type": "function", "function": function}


def test_tools_that_are_no_functions_are_not_shown() -> None:
    assert made(tools=[{"type": "web_search"}]).tools is None


@pytest.mark.parametrize(
    ("items", "messages"),
    [
        ("hola", [USER]),
        ([USER, {"type": "message", **USER}], [USER, USER]),
        ([{"role": "assistant", "content": "Voy."}], [{"role": "assistant", "content": "Voy."}]),
        ([SAID], [{"role": "assistant", "content": "Voy."}]),
        ([THOUGHT, SAID], [{"role": "assistant", "reasoning": "a ver", "content": "Voy."}]),
        ([SAID, SAID], [{"role": "assistant", "content": "Voy."}] * 2),
        ([RESULT], [{"role": "tool", "content": "20", "tool_call_id": "c1"}]),
    ],
)
def test_items_as_messages(items: Any, messages: list[Any]) -> None:
    assert input_messages(items) == messages


def test_calls_join_the_turn_they_belong_to() -> None:
    user, turn, tool = input_messages([USER, THOUGHT, CALL, {**CALL, "call_id": "c2", "namespace": "n"}, RESULT])
    assert (user["role"], turn["role"], tool["role"]) == ("user", "assistant", "tool")
    assert [(call["id"], call["function"]["name"]) for call in turn["tool_calls"]] == [("c1", "f"), ("c2", "n__f")]


@pytest.mark.parametrize(
    ("items", "words"),
    [
        ([{**THOUGHT, "encrypted_content": "x"}], "Encrypted content is not supported."),
        ([{"type": "item_reference", "id": "x"}], "'item_reference'"),
    ],
)
def test_items_that_no_chat_has(items: Any, words: str) -> None:
    with pytest.raises(APIError, match=words):
        input_messages(items)


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        ("hola", False),
        ([], False),
        ([SAID], False),
        ([{**SAID, "status": "incomplete"}], True),
        ([{**SAID, "status": "incomplete"}, USER], False),
        ([{**CALL, "status": "in_progress"}], False),
    ],
)
def test_a_beginning_is_gone_on_from(items: Any, expected: bool) -> None:
    assert continues_last_message(items) is expected
    chat = made(input=items)
    assert (chat.continue_final_message, chat.add_generation_prompt) == (expected, not expected)


def test_what_a_response_said_goes_into_the_next() -> None:
    assert output_messages([THOUGHT, SAID, CALL]) == [{"role": "assistant", "content": "Voy."}]


KEYS = ("type", "role", "content", "id", "status", "summary", "call_id", "name", "arguments", "output", "text", "phase")
VALUES = st.sampled_from(
    ("message", "user", "assistant", "x", "completed", None, [], 3, "function_call", "function_call_output")
)


@given(st.sampled_from((USER, SAID, THOUGHT, CALL, RESULT)), st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=2))
def test_what_is_usual_is_valid(item: dict[str, Any], changed: dict[str, Any]) -> None:
    """The shapes never take what the openai package, completed as vLLM completes it, would refuse."""
    candidate = {**item, **changed}
    if is_usual_item(candidate):
        try:
            ITEMS.validate_python(_completed(candidate))
        except ValidationError as error:
            raise AssertionError(f"not valid: {candidate}") from error


def _completed(item: dict[str, Any]) -> dict[str, Any]:
    """vLLM adds what clients leave out of what the assistant said."""
    if item.get("type") == "reasoning":
        return {"id": "rs_0", **item}
    if item.get("type") == "message" and item.get("role") == "assistant" and isinstance(item["content"], list):
        parts = [{"annotations": [], **part} for part in item["content"]]
        return {"id": "msg_0", "status": "completed", **item, "content": parts}
    return item


@pytest.mark.parametrize("item", [USER, SAID, THOUGHT, CALL, RESULT])
def test_the_usual_items_are_told(item: dict[str, Any]) -> None:
    assert is_usual_item(item)
