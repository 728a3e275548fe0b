"""What tools make of a chat request: a grammar for its answer, and the call to make when nobody says anything."""

import json
from collections.abc import Sequence
from typing import Any

from mockvllm.answers.directives import Directive
from mockvllm.answers.schema import UnsatisfiableError, instance_text
from mockvllm.answers.structured import constraint
from mockvllm.answers.structured_tag import as_format
from mockvllm.answers.tool_calls import ToolCall, ToolFormat
from mockvllm.answers.tool_calls_grammar import CallRules, Choice, Tool, tool_tag
from mockvllm.server.constraints import kind_of, no_engine
from mockvllm.server.draft import Prompt
from mockvllm.server.serving_options import ServingConfig
from mockvllm.wire.chat_request import ChatCompletionRequest
from mockvllm.wire.features import tool_choice
from mockvllm.wire.response_format import StructuredOutputsParams, structured_outputs


class ChatTools:
    """Made once a server."""

    def __init__(self, config: ServingConfig, format: ToolFormat | None) -> None:
        self._rules = config.wire
        self._level = config.tool_strict_level
        self._calls_by_itself = config.answer == "sentence"
        self._format = format

    def bind(self, request: ChatCompletionRequest, values: dict[str, Any]) -> None:
        """The sampling parameters of a request that may or must call tools (vLLM's `adjust_request`)."""
        choice = tool_choice(request)
        if self._format is None or choice == "none":
            return
        if self._format.shows_special_tokens:
            values["skip_special_tokens"] = False
        tag = self._tag(self._format, request, values.get("structured_outputs"))
        if tag is not None:
            values["structured_outputs"] = StructuredOutputsParams(structural_tag=json.dumps({"format": tag}))

    def call(self, request: ChatCompletionRequest, prompt: Prompt) -> Directive | None:
        """The call of the named or the first tool, with the smallest arguments that it takes; None: none is called.

        Under `auto` a tool is called by the answer `sentence` alone, unless the conversation waits for no call: a
        tool's result is its last word, or the answer has a format of its own.
        """
        choice = tool_choice(request)
        if self._format is None or choice == "none":
            return None
        formatted = structured_outputs(request.response_format, request.structured_outputs) is not None
        told = formatted or prompt.conversation[-1]["role"] == "tool"
        if choice == "auto" and (told or not self._calls_by_itself):
            return None
        tool = _chosen(request)[0]
        return Directive("default", self._format.write(ToolCall(tool.name, _arguments(tool))))

    def _tag(
        self, format: ToolFormat, request: ChatCompletionRequest, wanted: StructuredOutputsParams | None
    ) -> dict[str, Any] | None:
        choice = tool_choice(request)
        tools = _chosen(request)
        single = request.parallel_tool_calls is False and self._rules.single_call_ends
        rules = CallRules(self._rules.calls_follow_schema, single, self._level)
        if choice != "auto":
            return _valid(format, tools, "required" if choice == "required" else "forced", rules)
        if wanted is None:
            return _valid(format, tools, "auto", rules)
        if not any(tool.strict for tool in tools):
            return None
        calls = _valid(format, tools, "required", rules)
        kind = kind_of(wanted)
        return calls and {"type": "or", "elements": [calls, as_format(kind, getattr(wanted, kind))]}


def _chosen(request: ChatCompletionRequest) -> Sequence[Tool]:
    """The tools that may be called."""
    choice = tool_choice(request)
    named = None if isinstance(choice, str) else choice.function.name
    functions = [tool.function for tool in request.tools or ()]
    return [
        Tool(function.name, function.parameters, function.strict)
        for function in functions
        if named in (None, function.name)
    ]


def _valid(format: ToolFormat, tools: Sequence[Tool], choice: Choice, rules: CallRules) -> dict[str, Any] | None:
    """The tag of a call. Where the grammar engine takes no schema of the tools, they stand for any arguments."""
    tag = tool_tag(format, tools, choice, rules)
    if tag is None:
        return None
    try:
        constraint("structural_tag", {"format": tag})
    except ImportError:
        return None  # what we say by ourselves is a call all the same
    except ValueError:
        return tool_tag(format, [Tool(tool.name) for tool in tools], choice, rules)
    return tag


def _arguments(tool: Tool) -> str:
    """The smallest that the schema takes. Raises APIError if that needs a grammar engine which is not installed."""
    parameters = {**(tool.parameters or {}), "type": "object"}
    try:
        return instance_text(json.dumps(parameters))
    except UnsatisfiableError:
        return "{}"
    except ImportError:
        raise no_engine() from None
