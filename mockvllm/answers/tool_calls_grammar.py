"""What vLLM lets a model say that is to call tools: the structural tag of its parser's format."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

from mockvllm.answers.structured_tag import tag, triggered_tags
from mockvllm.answers.tool_calls import ToolFormat

Schema = Mapping[str, Any]
Choice = Literal["auto", "required", "forced"]
"""Whether a tool may be called, one must be, or the only one must be."""
_THINKING = ("<think>", "</think>")


class Tool(NamedTuple):
    """`strict` None: the client says nothing of it."""

    name: str
    parameters: Schema | None = None
    strict: bool | None = None


class CallRules(NamedTuple):
    """`follow_schema`: arguments of a tool that is not strict have its schema too (0.30), else any JSON will do.

    `single`: the answer ends behind the first call. `level`: `function` holds an answer under `auto` to the known
    functions, `parameter` every tool to its schema.
    """

    follow_schema: bool
    single: bool = False
    level: Literal["auto", "function", "parameter"] | None = None


def tool_tag(format: ToolFormat, tools: Sequence[Tool], choice: Choice, rules: CallRules) -> dict[str, Any] | None:
    """The format of an answer that may (`auto`) or must call one of `tools`; None: anything may be said."""
    if choice == "auto" and not _binds(tools, rules):
        return None
    tags = [
        tag(f"{before}{tool.name}{between}", _arguments(tool, rules), behind)
        for tool in tools
        for before, between, behind in format.envelopes
    ]
    single = rules.single or choice == "forced"
    if choice == "auto" or (format.text_between and choice == "required"):
        excludes = _THINKING if format.text_between else ()
        at_least_one = choice == "required"
        return triggered_tags(
            tags, [format.trigger], excludes=excludes, at_least_one=at_least_one, stop_after_first=single
        )
    return {
        "type": "tags_with_separator",
        "tags": tags,
        "separator": "",
        "at_least_one": True,
        "stop_after_first": single,
    }


def _binds(tools: Sequence[Tool], rules: CallRules) -> bool:
    return rules.single or rules.level in ("function", "parameter") or any(tool.strict for tool in tools)


def _arguments(tool: Tool, rules: CallRules) -> object:
    """The schema of a tool's arguments; True: anything."""
    strict = tool.strict is not False if rules.follow_schema else tool.strict or rules.level == "parameter"
    if not strict or tool.parameters is None:
        return True
    return dict(tool.parameters)
