"""A chat request's messages as a prompt."""

from collections.abc import Mapping
from typing import Any

from mockvllm.answers.prompt import Messages, Renderer, Rendering
from mockvllm.server.serving_options import ServingConfig
from mockvllm.wire.chat_request import ChatCompletionRequest, tool_definition
from mockvllm.wire.conversation import parse_chat_messages
from mockvllm.wire.errors import UnexpectedError, invalid
from mockvllm.wire.features import check_chat_template, check_mm_kwargs, tool_choice

_RENDERING_FIELDS = frozenset(
    (
        "add_generation_prompt",
        "chat_template_kwargs",
        "continue_final_message",
        "documents",
        "reasoning_effort",
        "tools",
    )
)
_AS_USUAL = Rendering()


class ChatPrompts:
    """Renders with the server's template, or the request's own where that is trusted."""

    def __init__(self, config: ServingConfig) -> None:
        self._config = config
        self._model_basename = config.model.rstrip("/").rpartition("/")[2]

    def check_trust(self, request: ChatCompletionRequest) -> None:
        """Raises APIError for what a request may only bring along if clients are trusted."""
        config = self._config
        if not config.trust_request_chat_template:
            check_chat_template(request)
        if config.wire.distrusts_mm_kwargs and not config.trust_request_mm_kwargs:
            check_mm_kwargs(request)

    def render(self, request: ChatCompletionRequest) -> tuple[Messages, str]:
        """The conversation and its prompt. Raises APIError: the template, or vLLM before it, refuses the messages."""
        renderer = self._renderer(request)
        conversation = self.conversation(request, takes_parts=renderer.takes_parts)
        usual = not self._config.default_chat_template_kwargs and _RENDERING_FIELDS.isdisjoint(request.given)
        try:
            return conversation, renderer.render(conversation, _AS_USUAL if usual else self._rendering(request))
        except ValueError as error:
            raise invalid(str(error)) from None

    def conversation(self, request: ChatCompletionRequest, *, takes_parts: bool = False) -> Messages:
        """The messages as a template sees them. Raises APIError."""
        return parse_chat_messages(request.messages, self._model_basename, takes_parts=takes_parts)

    def _renderer(self, request: ChatCompletionRequest) -> Renderer:
        if request.chat_template is None or self._config.request_template is None:
            return self._config.renderer
        try:
            return self._config.request_template(request.chat_template)
        except ValueError as error:
            raise UnexpectedError(400, str(error)) from None

    def _rendering(self, request: ChatCompletionRequest) -> Rendering:
        hidden = self._config.exclude_tools_when_tool_choice_none and tool_choice(request) == "none"
        tools = None if hidden or request.tools is None else [tool_definition(tool) for tool in request.tools]
        return Rendering(
            request.add_generation_prompt,
            request.continue_final_message,
            tools,
            request.documents,
            template_variables(request, self._config.default_chat_template_kwargs),
        )


def template_variables(request: ChatCompletionRequest, defaults: Mapping[str, Any]) -> dict[str, Any]:
    """The names that the chat template of a request sees; `defaults` are the server's."""
    variables = {**defaults}
    if request.reasoning_effort is not None:
        variables["reasoning_effort"] = request.reasoning_effort
        variables["enable_thinking"] = request.reasoning_effort != "none"
    return variables | (request.chat_template_kwargs or {})
