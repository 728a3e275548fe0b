"""/v1/messages: an Anthropic request is a chat request, whose answer has another shape."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from mockvllm.engine import Request
from mockvllm.profiles.messages import MessagesRules
from mockvllm.server.asgi import lookup
from mockvllm.server.chat import ChatServing
from mockvllm.server.draft import Draft, Headers
from mockvllm.server.serving import Response
from mockvllm.server.serving_options import ServingConfig
from mockvllm.wire.body import parse_body
from mockvllm.wire.chat_request import EFFORTS, ChatCompletionRequest
from mockvllm.wire.errors import APIError
from mockvllm.wire.jsontext import compact
from mockvllm.wire.messages_api_chat import chat_request
from mockvllm.wire.messages_api_errors import AnthropicError
from mockvllm.wire.messages_api_events import MessageResponse
from mockvllm.wire.messages_api_request import (
    AnthropicCountTokensRequest,
    AnthropicMessagesRequest,
    check_thinking_budget,
)
from mockvllm.wire.prepared import Prepared
from mockvllm.wire.stop_strings import limit_stop_strings


class MessagesServing(ChatServing):
    """Bodies that are not valid are answered as by the other routes; later errors have Anthropic's shape."""

    def __init__(self, config: ServingConfig, rules: MessagesRules) -> None:
        super().__init__(config)
        self._rules = rules
        self._origin = limit_stop_strings(AnthropicMessagesRequest, config.max_stop_strings)

    def prepare(self, body: bytes, headers: Headers, now: float) -> Prepared[Request]:
        found = lookup(headers)
        fields = parse_body(body, found.get(b"content-type"))
        request = self._origin.parse(fields, self._rules.absent_fields)
        if self._rules.checks_thinking_budget:
            check_thinking_budget(request, fields)
        try:
            return self.serve(chat_request(request, self._disabled_effort), fields, found, now)
        except APIError as error:
            raise self._anthropic(error) from None

    def count_tokens(self, body: bytes, headers: Headers) -> bytes:
        """The answer of /v1/messages/count_tokens. Raises APIError."""
        fields: Mapping[str, Any] = parse_body(body, lookup(headers).get(b"content-type"))
        asked = AnthropicCountTokensRequest.parse(fields, self._rules.absent_count_tokens_fields)
        try:
            request = chat_request(asked, self._disabled_effort)
            self.check(request)
            (prompt,) = self.render(request, self.asked(request))
        except APIError as error:
            raise self._anthropic(error) from None
        count = len(prompt.token_ids)
        return compact({"input_tokens": count, "context_management": {"original_input_tokens": count}})

    def response(self, draft: Draft[ChatCompletionRequest], choices: Sequence[Request]) -> Response:
        return MessageResponse(self._responses.make(draft, choices), own_error_types=self._rules.own_error_types)

    def _disabled_effort(self) -> str:
        """The reasoning effort of who disables thinking; `auto`: `none`, if the prompt heeds that."""
        effort = self.config.disabled_thinking_effort
        return self._heeded_effort if effort == "auto" else effort

    @cached_property
    def _heeded_effort(self) -> str:
        """`low` where the template refuses `none`, ignores it, or takes it for another effort (vLLM probes it so)."""
        try:
            prompts = {effort: self._probe(effort) for effort in EFFORTS}
        except APIError:
            return "low"
        without = prompts.pop("none")
        return "low" if without in prompts.values() else "none"

    def _probe(self, effort: str) -> str:
        messages = [{"role": "user", "content": "hi"}]
        return self._prompts.render(ChatCompletionRequest.of({"messages": messages, "reasoning_effort": effort}))[1]

    def _anthropic(self, error: APIError) -> APIError:
        return AnthropicError(error, own_types=self._rules.own_error_types)
