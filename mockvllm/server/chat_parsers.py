"""How a server finds reasoning and tool calls in what its choices say, as its flags and each request settle."""

from mockvllm.answers.message_parser import MessageParser
from mockvllm.answers.reasoning import ReasoningParser
from mockvllm.answers.reasoning_formats import REASONING_PARSERS
from mockvllm.answers.tool_calls import NoToolCalls, ToolParser
from mockvllm.answers.tool_calls_formats import TOOL_FORMATS
from mockvllm.server.chat_prompt import template_variables
from mockvllm.server.serving_options import ServingConfig
from mockvllm.wire.chat_request import ChatCompletionRequest
from mockvllm.wire.features import tool_choice


class ChatParsers:
    """Made once a server. `exist`: without, all that is said is content."""

    def __init__(self, config: ServingConfig) -> None:
        self._defaults = config.default_chat_template_kwargs
        self._reasoning = REASONING_PARSERS[config.reasoning_parser] if config.reasoning_parser else None
        self.tool_format = TOOL_FORMATS[config.tool_call_parser] if config.tool_call_parser else None
        self.exist = self._reasoning is not None or self.tool_format is not None

    def parser(self, request: ChatCompletionRequest, prompt: str) -> MessageParser:
        """For one choice of the request, which was rendered as `prompt`."""
        reasoning = self._reasoning_parser(request)
        return MessageParser(
            reasoning,
            self._tool_parser(request),
            closed=reasoning is not None and reasoning.closed_by(prompt),
            include_reasoning=request.include_reasoning,
        )

    def reasons(self, request: ChatCompletionRequest, prompt: str) -> bool:
        """Whether what is said after `prompt` begins with reasoning."""
        reasoning = self._reasoning_parser(request)
        return reasoning is not None and not reasoning.closed_by(prompt)

    def _reasoning_parser(self, request: ChatCompletionRequest) -> ReasoningParser | None:
        return self._reasoning and self._reasoning(template_variables(request, self._defaults))

    def _tool_parser(self, request: ChatCompletionRequest) -> ToolParser | None:
        if self.tool_format is None:
            return None
        return NoToolCalls() if tool_choice(request) == "none" else self.tool_format.parser()
