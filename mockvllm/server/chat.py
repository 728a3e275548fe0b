"""/v1/chat/completions: from the bytes of a request to what the engine is to do and to what the client will read."""

from collections.abc import Mapping, Sequence
from typing import Any

from mockvllm.answers.output import Output
from mockvllm.answers.prompt import Messages, last_user_text
from mockvllm.engine import Request
from mockvllm.server.chat_prompt import ChatPrompts
from mockvllm.server.chat_response import ChatResponses
from mockvllm.server.serving import Draft, Headers, Serving
from mockvllm.server.serving_options import ServingConfig
from mockvllm.wire.answer import StreamAnswer, WholeAnswer
from mockvllm.wire.body import parse_body
from mockvllm.wire.chat_events import ChatResponse
from mockvllm.wire.chat_request import ChatCompletionRequest
from mockvllm.wire.checks import check_body
from mockvllm.wire.context import Asked, asked
from mockvllm.wire.errors import APIError
from mockvllm.wire.features import check_chat_template, check_mm_kwargs, check_tool_parser
from mockvllm.wire.prepared import Answer, Prepared
from mockvllm.wire.response_format import structured_outputs


class ChatServing(Serving):
    """Made once a server; `prepare` once a request."""

    def __init__(self, config: ServingConfig) -> None:
        super().__init__(config)
        self._prompts = ChatPrompts(config)
        self._responses = ChatResponses(self)

    def prepare(self, body: bytes, headers: Headers, now: float) -> Prepared[Request]:
        """`now`: the engine's clock, in seconds. Raises APIError for a request refused before anything is sent.

        The order of the steps is that of vLLM's checks.
        """
        lookup = dict(headers)
        fields = parse_body(body, lookup.get(b"content-type"))
        check_body(fields)
        request = ChatCompletionRequest.parse(fields)
        self._check_features(request)
        ask = asked(request.given)
        self.window.check_request(ask)
        conversation, prompt = self._prompts.render(request)
        draft = self._draft(request, ask, prompt, lookup, now)
        failure = self.admission_failure(draft, lookup)
        if failure is not None:
            return self._refused(draft, conversation, failure)
        return self._accepted(draft, conversation, fields, lookup)

    def _check_features(self, request: ChatCompletionRequest) -> None:
        """The model's name, and what the server must have been started for."""
        config = self.config
        self.check_model(request.model)
        check_tool_parser(request, config.tool_call_parser, auto=config.enable_auto_tool_choice)
        if not config.trust_request_chat_template:
            check_chat_template(request)
        if config.wire.distrusts_mm_kwargs and not config.trust_request_mm_kwargs:
            check_mm_kwargs(request)

    def _draft(
        self, request: ChatCompletionRequest, ask: Asked, prompt: str, headers: Mapping[bytes, bytes], now: float
    ) -> Draft:
        token_ids = self.tokenize(request, ask, prompt)
        constraint = structured_outputs(request.response_format, request.structured_outputs)
        values = self.sampling(request, self.window.max_tokens(ask, len(token_ids)))
        if constraint is not None:
            values["structured_outputs"] = constraint
        self._add_logprobs(request, values)
        request_id = self.response_id("chatcmpl-", request.request_id, headers)
        return Draft(request_id, request, now, self.priority(request, headers), prompt, token_ids, values)

    def _add_logprobs(self, request: ChatCompletionRequest, values: dict[str, Any]) -> None:
        """How many candidates a token shows; 0.30 takes `top_logprobs: null` for no log-probabilities at all."""
        top = request.top_logprobs
        if request.logprobs and (top is not None or self.config.wire.null_top_logprobs_counts):
            values["num_logprobs"] = top or 0
        if request.echo and top and request.prompt_logprobs is None:
            values["prompt_logprobs"] = top

    def _refused(self, draft: Draft, conversation: Messages, failure: APIError) -> Prepared[Request]:
        request = draft.request
        if not request.stream:
            raise failure
        response = self._responses.make(draft, conversation, ())
        answer = StreamAnswer(response, (), response.num_prompt_tokens, can_stop=False)
        return Prepared(draft.request_id, True, (), answer, failure=failure, model=request.model)

    def _accepted(
        self, draft: Draft, conversation: Messages, fields: Mapping[str, Any], headers: Mapping[bytes, bytes]
    ) -> Prepared[Request]:
        request = draft.request
        user_text = last_user_text(conversation)
        directive = self.scripting.directive(user_text, fields, headers)
        scripts = self.scripting.scripts(draft.request_id, draft.values, user_text, directive)
        choices = self.engine_requests(draft, scripts)
        response = self._responses.make(draft, conversation, choices)
        answer = self._answer(request, response, self.outputs(request, scripts))
        origin = scripts[0].origin
        return Prepared(draft.request_id, bool(request.stream), choices, answer, origin, model=request.model)

    def _answer(self, request: ChatCompletionRequest, response: ChatResponse, outputs: Sequence[Output]) -> Answer:
        num_prompt_tokens, can_stop = response.num_prompt_tokens, bool(request.stop)
        if not request.stream:
            return WholeAnswer(response, outputs, num_prompt_tokens, can_stop=can_stop)
        interval = max(self.config.stream_interval, request.stream_interval or 1)
        return StreamAnswer(response, outputs, num_prompt_tokens, can_stop=can_stop, interval=interval)
