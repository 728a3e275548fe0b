"""The objects inside the requests of the Anthropic API, as vLLM 0.33 declares them; names show in error texts."""

from collections.abc import Callable
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from mockvllm.wire.fields import RequestObject

_ROLES = {"ctx": "user", "msg": "user"}
"""What some clients call their roles."""


def must(holds: Callable[[Any], object], message: str) -> AfterValidator:
    """A condition that pydantic reports as `value_error`."""

    def check(value: Any) -> Any:
        if not holds(value):
            raise ValueError(message)
        return value

    return AfterValidator(check)


def _with_type(schema: dict[str, Any]) -> dict[str, Any]:
    return schema if "type" in schema else {**schema, "type": "object"}


class AnthropicTool(RequestObject):
    name: str
    description: str | None = None
    input_schema: Annotated[dict[str, Any], AfterValidator(_with_type)]
    strict: bool | None = None
    defer_loading: bool | None = None


class AnthropicToolChangeReference(RequestObject):
    type: Literal["tool_reference"]
    name: str


class AnthropicToolChangeDefinition(RequestObject):
    type: Literal["tool_definition"]
    definition: AnthropicTool


ToolChange = Annotated[AnthropicToolChangeReference | AnthropicToolChangeDefinition, Field(discriminator="type")]


class AnthropicContentBlock(RequestObject):
    type: Literal[
        "text",
        "image",
        "tool_use",
        "tool_result",
        "tool_reference",
        "thinking",
        "redacted_thinking",
        "tool_addition",
        "tool_removal",
    ]
    text: str | None = None
    source: dict[str, Any] | None = None
    id: str | None = None
    tool_use_id: str | None = None
    name: str | None = None
    input: dict[str, Any] | None = None
    content: str | list[dict[str, Any]] | None = None
    is_error: bool | None = None
    tool_name: str | None = None
    thinking: str | None = None
    signature: str | None = None
    data: str | None = None
    tool: ToolChange | None = None


def _role(value: Any) -> Any:
    return _ROLES.get(value, value) if isinstance(value, str) else value


class AnthropicMessage(RequestObject):
    role: Annotated[Literal["user", "assistant", "system"], BeforeValidator(_role)]
    content: str | list[AnthropicContentBlock]


class AnthropicToolChoice(RequestObject):
    type: Literal["auto", "any", "tool", "none"]
    name: str | None = None
    disable_parallel_tool_use: bool | None = None


def _named(choice: AnthropicToolChoice) -> bool:
    return choice.type != "tool" or bool(choice.name)


NamedToolChoice = Annotated[AnthropicToolChoice, must(_named, "tool_choice.name is required when type is 'tool'")]


class AnthropicThinkingConfigEnabled(RequestObject):
    type: Literal["enabled"]
    budget_tokens: Annotated[int, Field(ge=1024)]
    display: Literal["summarized", "omitted", "updates"] | None = None


class AnthropicThinkingConfigDisabled(RequestObject):
    type: Literal["disabled"]


class AnthropicThinkingConfigAdaptive(RequestObject):
    type: Literal["adaptive"]
    display: Literal["summarized", "omitted", "updates"] | None = None


Thinking = Annotated[
    AnthropicThinkingConfigEnabled | AnthropicThinkingConfigDisabled | AnthropicThinkingConfigAdaptive,
    Field(discriminator="type"),
]


class AnthropicJsonOutputFormat(RequestObject):
    json_schema: Annotated[dict[str, Any] | None, Field(alias="schema")] = None
    type: Literal["json_schema"] = "json_schema"


class AnthropicOutputConfig(RequestObject):
    effort: Literal["low", "medium", "high", "xhigh", "max"] | None = None
    format: AnthropicJsonOutputFormat | None = None
