"""Fields validated one by one against one pydantic model of the same fields."""

from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ConfigDict, ValidationError, create_model

from mockvllm.wire.chat_request import ChatCompletionRequest
from mockvllm.wire.errors import APIError
from mockvllm.wire.fields import RequestModel
from mockvllm.wire.validation import bad_request, failures

Model = create_model(  # type: ignore[call-overload]
    "Model",
    __config__=ConfigDict(extra="allow"),
    **{
        name: (field.annotation, ... if name == "messages" else getattr(ChatCompletionRequest, name))
        for name, field in ChatCompletionRequest.fields().items()
        if name != "structured_outputs"
    },
)
SCALARS = st.none() | st.booleans() | st.integers(-3, 3) | st.floats() | st.text("a1.", max_size=3)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["role", "content", "type"]), inner),
    max_leaves=6,
)
NAMES = st.sampled_from([name for name in ChatCompletionRequest.fields() if name != "structured_outputs"])
MESSAGES = st.just([{"role": "user", "content": "hola"}]) | st.lists(VALUES, max_size=2)


def outcome(body: dict[str, Any]) -> Any:
    """What one pydantic model makes of a body."""
    try:
        model = Model.model_validate(body, from_attributes=True)
    except ValidationError as error:
        return bad_request(failures(error)).message
    except APIError as error:
        return error.message
    return {name: getattr(model, name) for name in body if name != "messages"}


@given(st.dictionaries(NAMES, VALUES, max_size=4), MESSAGES)
def test_the_outcome_is_that_of_one_model(fields: dict[str, Any], messages: Any) -> None:
    body = {**fields, "messages": messages}
    wanted = outcome(body)
    try:
        request = ChatCompletionRequest.parse(body)
    except APIError as error:
        if error.type == "Bad Request":
            assert error.message == wanted
        return
    assert repr({name: getattr(request, name) for name in body if name != "messages"}) == repr(wanted)


def test_what_is_not_sent_has_its_default() -> None:
    request = ChatCompletionRequest.parse({"messages": [], "max_tokens": "3", "__class__": 1, "other": 2})
    assert request.given == {"messages": [], "max_tokens": 3}
    assert (request.max_tokens, request.n, request.temperature) == (3, 1, None)


def test_hooks_see_a_value_before_and_after_its_validation() -> None:
    class Hooked(RequestModel):
        before: ClassVar = {"number": lambda value: value or "7"}
        after: ClassVar = {"number": lambda value: value + 1}
        number: int

    assert Hooked.parse({"number": ""}).number == 8
    with pytest.raises(APIError, match="Field required"):
        Hooked.parse({})


def test_a_model_made_from_another_has_its_fields_too() -> None:
    class More(ChatCompletionRequest):
        extra: int = 0

    assert More.parse({"messages": [], "extra": "2"}).extra == 2
    assert "extra" not in ChatCompletionRequest.fields()
