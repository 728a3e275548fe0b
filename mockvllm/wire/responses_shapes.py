"""The usual input items and tools of /v1/responses, told by their shape: valid as they stand."""

from collections.abc import Callable, Mapping
from typing import Any

Test = Callable[[Any], bool]
STATUSES = ("in_progress", "completed", "incomplete")


def _is_text(value: Any) -> bool:
    return type(value) is str


def _is_none(value: Any) -> bool:
    return value is None


def _is_empty(value: Any) -> bool:
    return type(value) is list and not value


def _one_of(*values: Any) -> Test:
    return lambda value: value in values


def _list_of(*tests: Test) -> Test:
    return lambda value: type(value) is list and all(any(test(item) for test in tests) for item in value)


def _object(required: Mapping[str, Test], optional: Mapping[str, Test]) -> Test:
    """An object that has all of `required` and nothing beyond `optional`."""
    tests = {**required, **optional}

    def test(value: Any) -> bool:
        if type(value) is not dict or not required.keys() <= value.keys() <= tests.keys():
            return False
        return all(tests[name](member) for name, member in value.items())

    return test


_INPUT_TEXT = _object({"type": _one_of("input_text"), "text": _is_text}, {})
_OUTPUT_TEXT = _object(
    {"type": _one_of("output_text"), "text": _is_text}, {"annotations": _is_empty, "logprobs": _is_none}
)
_REASONING_TEXT = _object({"type": _one_of("reasoning_text"), "text": _is_text}, {})
_STATUS = {"status": _one_of(*STATUSES)}
_USUAL_ITEMS = (
    _object(
        {
            "role": _one_of("user", "assistant", "system", "developer"),
            "content": lambda value: _is_text(value) or _list_of(_INPUT_TEXT)(value),
        },
        {"type": _one_of("message")},
    ),
    _object(
        {"type": _one_of("message"), "role": _one_of("assistant"), "content": _list_of(_OUTPUT_TEXT)},
        {"id": _is_text, "phase": _is_none, **_STATUS},
    ),
    _object(
        {"type": _one_of("function_call"), "call_id": _is_text, "name": _is_text, "arguments": _is_text},
        {"id": _is_text, "async": _is_none, "caller": _is_none, "namespace": _is_none, **_STATUS},
    ),
    _object({"type": _one_of("function_call_output"), "call_id": _is_text, "output": _is_text}, {"id": _is_text}),
    _object(
        {"type": _one_of("reasoning"), "summary": _is_empty},
        {
            "id": _is_text,
            "content": lambda value: _is_none(value) or _list_of(_REASONING_TEXT)(value),
            "encrypted_content": _is_none,
            "status": _one_of(None, *STATUSES),
        },
    ),
)


def is_usual_item(item: Any) -> bool:
    return any(test(item) for test in _USUAL_ITEMS)


is_usual_tool = _object(
    {"type": _one_of("function"), "name": _is_text},
    {
        "description": lambda value: _is_none(value) or _is_text(value),
        "parameters": lambda value: _is_none(value) or type(value) is dict,
        "strict": _one_of(None, True, False),
    },
)
