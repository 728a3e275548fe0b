"""Structured output as a request asks for it: `response_format` and `structured_outputs`."""

from dataclasses import asdict, dataclass, replace
from typing import Annotated, Any, Literal

from pydantic import Field

from mockvllm.wire.errors import invalid
from mockvllm.wire.fields import RequestObject


class JsonSchemaResponseFormat(RequestObject):
    name: str
    description: str | None = None
    json_schema: Annotated[dict[str, Any] | None, Field(alias="schema")] = None
    strict: bool | None = None


class ResponseFormat(RequestObject):
    type: Literal["text", "json_object", "json_schema"]
    json_schema: JsonSchemaResponseFormat | None = None


class StructuralTagResponseFormat(RequestObject):
    type: Literal["structural_tag"]
    format: Any


class LegacyStructuralTag(RequestObject):
    begin: str
    structural_tag_schema: Annotated[dict[str, Any] | None, Field(alias="schema")] = None
    end: str


class LegacyStructuralTagResponseFormat(RequestObject):
    type: Literal["structural_tag"]
    structures: list[LegacyStructuralTag]
    triggers: list[str]


AnyResponseFormat = ResponseFormat | StructuralTagResponseFormat | LegacyStructuralTagResponseFormat


@dataclass
class StructuredOutputsParams:
    json: str | dict[str, Any] | None = None
    regex: str | None = None
    choice: list[str] | None = None
    grammar: str | None = None
    json_object: bool | None = None
    disable_any_whitespace: bool = False
    disable_additional_properties: bool = False
    whitespace_pattern: str | None = None
    structural_tag: str | None = None


CONSTRAINTS = ("json", "regex", "choice", "grammar", "json_object", "structural_tag")


def check_structured_outputs(params: StructuredOutputsParams | None) -> StructuredOutputsParams | None:
    """`params`, with exactly one constraint set. Raises APIError with vLLM's text, which shows all of them."""
    if params is None:
        return None
    count = sum(getattr(params, name) is not None for name in CONSTRAINTS)
    if count == 1:
        return params
    shown = asdict(params) | {"_backend": None, "_backend_was_auto": False}
    if count > 1:
        message = f"You can only use one kind of structured outputs constraint but multiple are specified: {shown}"
    else:
        message = f"You must use one kind of structured outputs constraint but none are specified: {shown}"
    raise invalid(message)


def structured_outputs(
    response_format: AnyResponseFormat | None, params: StructuredOutputsParams | None
) -> StructuredOutputsParams | None:
    """The constraint of a request: `structured_outputs`, to which a `response_format` adds its own. Raises APIError."""
    added = _constraint(response_format)
    if not added:
        return params
    return check_structured_outputs(replace(params or StructuredOutputsParams(), **added))


def _constraint(response_format: AnyResponseFormat | None) -> dict[str, Any]:
    if response_format is None or response_format.type == "text":
        return {}
    if response_format.type == "json_object":
        return {"json_object": True}
    if isinstance(response_format, ResponseFormat):
        schema = response_format.json_schema
        return {"json": schema and schema.json_schema}
    return {"structural_tag": response_format.model_dump_json(by_alias=True)}
