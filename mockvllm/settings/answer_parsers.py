"""Parsers of tool calls and of reasoning by name: which there are, and which of them another stands in for."""

from collections.abc import Iterator, Mapping
from typing import Any

from mockvllm.settings.knob import flag_of
from mockvllm.settings.record import Settings


def unknown(settings: Settings) -> Iterator[str]:
    """Names that vLLM does not know either; a parser of tool calls that is not in use may have any."""
    if settings.tool_call_parser and settings.enable_auto_tool_choice:
        yield from _unknown("tool_call_parser", settings.tool_call_parser)
    if settings.reasoning_parser:
        yield from _unknown("reasoning_parser", settings.reasoning_parser)


def notes(values: Mapping[str, Any]) -> Iterator[str]:
    """`values`: the given options by name."""
    if values.get("tool_call_parser") and not values.get("enable_auto_tool_choice"):
        yield "without effect without --enable-auto-tool-choice: --tool-call-parser"
    elif values.get("tool_call_parser"):
        yield from _stand_in("tool_call_parser", values["tool_call_parser"])
    if values.get("reasoning_parser"):
        yield from _stand_in("reasoning_parser", values["reasoning_parser"])


def _unknown(option: str, name: str) -> Iterator[str]:
    known = _names(option)
    if name not in known:
        yield f"{flag_of(option)}: no such parser: {name!r} (choose from {', '.join(sorted(known))})"


def _stand_in(option: str, name: str) -> Iterator[str]:
    known = _names(option)
    if known.get(name) is not None:
        yield f"{flag_of(option)} {name}: answers are written and read as with {known[name]}"


def _names(option: str) -> Mapping[str, str | None]:
    """The parsers, and what stands in for them; imported by who names one."""
    if option == "reasoning_parser":
        from mockvllm.answers import reasoning_formats

        return {name: reasoning_formats.stand_in(name) for name in reasoning_formats.REASONING_PARSERS}
    from mockvllm.answers import tool_calls_formats

    return {name: tool_calls_formats.stand_in(name) for name in tool_calls_formats.TOOL_FORMATS}
