"""Bodies with more failures than are shown: the rest is counted as pydantic would, without a text for each."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ConfigDict, TypeAdapter, ValidationError

from mockvllm.wire import validation
from mockvllm.wire.chat_request import ChatCompletionRequest
from mockvllm.wire.errors import APIError
from mockvllm.wire.messages import ChatMessage
from mockvllm.wire.tokenize import TokenizeChatRequest
from mockvllm.wire.validation import bad_request, failures

WHOLE = TypeAdapter(list[ChatMessage], config=ConfigDict(extra="allow"))
TEXTS = st.sampled_from(["user", "tool", "assistant", "other", "function", "ñ", "\ud800", "text", ""])
SCALARS = st.none() | st.booleans() | st.integers(-1, 1) | st.floats() | TEXTS
FIELDS = "role content name author type text tools tool_calls function_call arguments audio id refusal reasoning task"
KEYS = st.sampled_from([*FIELDS.split(), "tool_call_id", "unknown"])
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(KEYS, inner, max_size=4), max_leaves=8
)
ROLES = st.fixed_dictionaries({"role": TEXTS})
AUTHORS = st.fixed_dictionaries({"author": st.fixed_dictionaries({"role": SCALARS}, optional={"name": SCALARS})})
MESSAGES = st.one_of(VALUES, *(st.tuples(base, st.dictionaries(KEYS, VALUES)).map(lambda two: {**two[1], **two[0]})
                              for base in (ROLES, AUTHORS)))  # fmt: skip


def whole(messages: list[Any]) -> str:
    """What pydantic says of all messages at once."""
    with pytest.raises(ValidationError) as error:
        WHOLE.validate_python(messages, from_attributes=True)
    return bad_request(failures(error.value, "messages")).message


@settings(max_examples=60)
@given(st.lists(MESSAGES, max_size=12))
def test_the_answer_is_that_of_one_validation(more: list[Any]) -> None:
    messages = [1, 2, *more]  # enough failures, so that the others are counted
    found = ChatCompletionRequest.fields()["messages"]
    try:
        shown = found.failures(messages, "messages")
    except APIError as error:
        assert "tool_calls" in error.message or "iterable" in error.message
        return
    assert bad_request(shown).message == whole(messages)


@pytest.mark.parametrize("bad", [{"role": "user", "content": None}, {"role": 1}, 5, [], {"author": {"role": "x"}}])
def test_many_bad_messages_are_validated_once(bad: object, monkeypatch: pytest.MonkeyPatch) -> None:
    validated: list[int] = []
    original = validation._error
    monkeypatch.setattr(validation, "_error", lambda *args: validated.append(1) or original(*args))
    messages = [bad, {"role": "user", "content": "hola"}] * 200
    wanted = whole(messages)
    for model in (ChatCompletionRequest, TokenizeChatRequest):
        with pytest.raises(APIError) as error:
            model.parse({"messages": messages})
        assert error.value.message == wanted
    assert len(validated) < 50


def test_nested_messages_are_counted_too() -> None:
    deep: Any = "x"
    for _ in range(900):
        deep = {"tools": [deep]}
    messages = [1, 2, 3, {"role": 1, "tools": [deep]}]
    with pytest.raises(APIError) as error:
        ChatCompletionRequest.parse({"messages": messages})
    assert error.value.message == whole(messages)
