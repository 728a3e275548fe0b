"""The messages of a chat request: the union of types that vLLM 0.30 to 0.33 validates them against.

The names of the types and the order of their fields show in error texts:
`body.messages.0.ChatCompletionDeveloperMessageParam.role`.
"""

from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any, Literal, Required, get_args, get_origin, get_type_hints

from pydantic import BaseModel
from typing_extensions import TypedDict, is_typeddict

from mockvllm.wire.content_parts import (
    ChatCompletionContentPartRefusalParam,
    ChatCompletionContentPartTextParam,
    ContentPart,
    TextParts,
)
from mockvllm.wire.errors import invalid
from mockvllm.wire.fields import RequestObject


class ChatCompletionDeveloperMessageParam(TypedDict, total=False):
    content: Required[TextParts]
    role: Required[Literal["developer"]]
    name: str


class ChatCompletionSystemMessageParam(TypedDict, total=False):
    content: Required[TextParts]
    role: Required[Literal["system"]]
    name: str


class ChatCompletionUserMessageParam(TypedDict, total=False):
    content: Required[str | Iterable[ContentPart]]
    role: Required[Literal["user"]]
    name: str


class Audio(TypedDict, total=False):
    id: Required[str]


class FunctionCall(TypedDict, total=False):
    arguments: Required[str]
    name: Required[str]


class Function(TypedDict, total=False):
    arguments: Required[str]
    name: Required[str]


class ChatCompletionMessageFunctionToolCallParam(TypedDict, total=False):
    id: Required[str]
    function: Required[Function]
    type: Required[Literal["function"]]


class Custom(TypedDict, total=False):
    input: Required[str]
    name: Required[str]


class ChatCompletionMessageCustomToolCallParam(TypedDict, total=False):
    id: Required[str]
    custom: Required[Custom]
    type: Required[Literal["custom"]]


class ChatCompletionAssistantMessageParam(TypedDict, total=False):
    role: Required[Literal["assistant"]]
    audio: Audio | None
    content: str | Iterable[ChatCompletionContentPartTextParam | ChatCompletionContentPartRefusalParam] | None
    function_call: FunctionCall | None
    name: str
    refusal: str | None
    tool_calls: Iterable[ChatCompletionMessageFunctionToolCallParam | ChatCompletionMessageCustomToolCallParam]


class ChatCompletionToolMessageParam(TypedDict, total=False):
    content: Required[TextParts]
    role: Required[Literal["tool"]]
    tool_call_id: Required[str]


class ChatCompletionFunctionMessageParam(TypedDict, total=False):
    content: Required[str | None]
    name: Required[str]
    role: Required[Literal["function"]]


class CustomChatCompletionMessageParam(TypedDict, total=False):
    """vLLM's own: any role."""

    role: Required[str]
    content: str | list[Any]
    name: str
    tool_call_id: str | None
    tool_calls: Iterable[ChatCompletionMessageFunctionToolCallParam] | None
    reasoning: str | dict[str, Any] | None
    tools: list[dict[str, Any]] | None
    task: str | None


class Author(RequestObject):
    role: Literal["user", "assistant", "system", "developer", "tool"]
    name: str | None = None


class Message(RequestObject):
    """OpenAI's harmony format, for the models that speak it."""

    author: Author
    content: list[dict[str, Any]]


ChatMessage = (
    ChatCompletionDeveloperMessageParam
    | ChatCompletionSystemMessageParam
    | ChatCompletionUserMessageParam
    | ChatCompletionAssistantMessageParam
    | ChatCompletionToolMessageParam
    | ChatCompletionFunctionMessageParam
    | CustomChatCompletionMessageParam
    | Message
)


def are_plain(messages: object) -> bool:
    """True: a list of nothing but roles and texts, which the union takes as it stands."""
    if type(messages) is not list:
        return False
    for message in messages:
        if type(message) is not dict or len(message) != 2:
            return False
        if type(message.get("role")) is not str or type(message.get("content")) is not str:
            return False
    return True


_SHAPE_DEPTH = 1  # pydantic looks into the message, and into the objects and lists that are its fields


def shape(value: object, depth: int = 0) -> object:
    """What decides how many failures a message has: all of it but texts, numbers, and keys that no type has."""
    if isinstance(value, str):  # not every text that is not ASCII is one to pydantic: half a surrogate pair
        return value if value in _words() or not value.isascii() else str
    if depth <= _SHAPE_DEPTH and isinstance(value, dict):
        return frozenset((key, shape(inner, depth + 1)) for key, inner in value.items() if key in _words())
    if depth <= _SHAPE_DEPTH and isinstance(value, list):
        return tuple(shape(inner, depth + 1) for inner in value)
    return type(value)


@cache
def _words() -> frozenset[str]:
    return frozenset(_words_of(ChatMessage))


def _words_of(hint: Any) -> Iterator[str]:
    """The keys and the literals of a type and of those within it."""
    if get_origin(hint) is Literal:
        yield from get_args(hint)
    elif is_typeddict(hint) or (isinstance(hint, type) and issubclass(hint, BaseModel)):
        for name, inner in get_type_hints(hint).items():
            yield name
            yield from _words_of(inner)
    else:
        for inner in get_args(hint):
            yield from _words_of(inner)


def check_tool_calls(messages: object) -> object:
    """`messages`, unless one of the assistant calls something that is no function. Raises APIError."""
    for message in messages if isinstance(messages, list) else ():
        if isinstance(message, dict) and message.get("role") == "assistant" and message.get("tool_calls") is not None:
            _check_calls(message["tool_calls"])
    return messages


def _check_calls(calls: Any) -> None:
    try:
        entries = list(calls)
    except TypeError as error:
        raise invalid(str(error)) from None
    for entry in entries:
        if not isinstance(entry, dict):
            raise invalid("assistant tool_calls entries must be objects.", "tool_calls")
        if entry.get("type", "function") != "function":
            raise invalid("chat completions only support assistant tool_calls of type 'function'.", "tool_calls")
