"""The objects inside a request of /v1/responses, as vLLM 0.33 declares them; names show in error texts."""

from typing import Annotated, Any, Literal

from pydantic import Field

from mockvllm.wire.fields import RequestObject


class FunctionTool(RequestObject):
    name: str
    parameters: dict[str, Any] | None = None
    strict: bool | None = None
    type: Literal["function"]
    allowed_callers: list[Literal["direct", "programmatic"]] | None = None
    async_: Annotated[bool | None, Field(alias="async")] = None
    defer_loading: bool | None = None
    description: str | None = None
    output_schema: dict[str, Any] | None = None


class Reasoning(RequestObject):
    context: Literal["auto", "current_turn", "all_turns"] | None = None
    effort: Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"] | None = None
    generate_summary: Literal["auto", "concise", "detailed"] | None = None
    mode: str | None = None
    summary: Literal["auto", "concise", "detailed"] | None = None


class ResponseFormatText(RequestObject):
    type: Literal["text"]


class ResponseFormatTextJSONSchemaConfig(RequestObject):
    name: str
    schema_: Annotated[dict[str, Any], Field(alias="schema")]
    type: Literal["json_schema"]
    description: str | None = None
    strict: bool | None = None


class ResponseFormatJSONObject(RequestObject):
    type: Literal["json_object"]


class ResponseTextConfig(RequestObject):
    format: ResponseFormatText | ResponseFormatTextJSONSchemaConfig | ResponseFormatJSONObject | None = None
    verbosity: Literal["low", "medium", "high"] | None = None


class PromptCacheOptionsParam(RequestObject):
    mode: Literal["implicit", "explicit"] = "implicit"
    ttl: Literal["30m"] = "30m"
    comparison_response_id: str | None = None
    prewarm: bool | None = None


class ToolChoiceAllowed(RequestObject):
    mode: Literal["auto", "required"]
    tools: list[dict[str, Any]]
    type: Literal["allowed_tools"]


class ToolChoiceTypes(RequestObject):
    type: Literal[
        "file_search",
        "web_search_preview",
        "computer",
        "computer_use_preview",
        "computer_use",
        "web_search_preview_2025_03_11",
        "image_generation",
        "code_interpreter",
    ]


class ToolChoiceFunction(RequestObject):
    name: str
    type: Literal["function"]


class ToolChoiceMcp(RequestObject):
    server_label: str
    type: Literal["mcp"]
    name: str | None = None


class ToolChoiceCustom(RequestObject):
    name: str
    type: Literal["custom"]


class ToolChoiceSpecificProgrammaticToolCallingParam(RequestObject):
    type: Literal["programmatic_tool_calling"]


class ToolChoiceApplyPatch(RequestObject):
    type: Literal["apply_patch"]


class ToolChoiceShell(RequestObject):
    type: Literal["shell"]


ToolChoice = (
    Literal["none", "auto", "required"]
    | ToolChoiceAllowed
    | ToolChoiceTypes
    | ToolChoiceFunction
    | ToolChoiceMcp
    | ToolChoiceCustom
    | ToolChoiceSpecificProgrammaticToolCallingParam
    | ToolChoiceApplyPatch
    | ToolChoiceShell
)
