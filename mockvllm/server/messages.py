"""/v1/messages: an Anthropic request is a chat request, whose answer has another shape."""

from collections.abc import Mapping, Sequence
from typing import Any

from mockvllm.engine import Request
from mockvllm.profiles.messages import MessagesRules
from mockvllm.server.chat import ChatServing
from mockvllm.server.draft import Draft, Headers
from mockvllm.server.serving import Response
from mockvllm.server.serving_options import ServingConfig
from mockvllm.wire.body import parse_body
from mockvllm.wire.chat_request import ChatCompletionRequest
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


class MessagesServing(ChatServing):
    """Bodies that are not valid are answered as by the other routes; later errors have Anthropic's shape."""

    def __init__(self, config: ServingConfig, rules: MessagesRules) -> None:
        super().__init__(config)
        self._rules = rules

    def prepare(self, body: bytes, headers: Headers, now: float) -> Prepared[Request]:
        lookup = dict(headers)
        fields = parse_body(body, lookup.get(b"content-type"))
        request = AnthropicMessagesRequest.parse(fields, self._rules.absent_fields)
        if self._rules.checks_thinking_budget:
            check_thinking_budget(request, fields)
        try:
            return self.serve(chat_request(request), fields, lookup, now)
        except APIError as error:
            raise self._anthropic(error) from None

    def count_tokens(self, body: bytes, headers: Headers) -> bytes:
        """The answer of /v1/messages/count_tokens. Raises APIError."""
        fields: Mapping[str, Any] = parse_body(body, dict(headers).get(b"content-type"))
        asked = AnthropicCountTokensRequest.parse(fields, self._rules.absent_count_tokens_fields)
        try:
            request = chat_request(asked)
            self.check(request)
            (prompt,) = self.render(request, self.asked(request))
        except APIError as error:
            raise self._anthropic(error) from None
        count = len(prompt.token_ids)
        return compact({"input_tokens": count, "context_management": {"original_input_tokens": count}})

    def response(self, draft: Draft[ChatCompletionRequest], choices: Sequence[Request]) -> Response:
        return MessageResponse(self._responses.make(draft, choices), own_error_types=self._rules.own_error_types)

    def _anthropic(self, error: APIError) -> APIError:
        return AnthropicError(error, own_types=self._rules.own_error_types)
