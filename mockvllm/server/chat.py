"""/v1/chat/completions: from the bytes of a request to what the engine is to do and to what the client will read."""

from collections.abc import Mapping, Sequence
from typing import Any

from mockvllm.answers.logprobs import prompt_logprobs as logprobs_of_prompt
from mockvllm.answers.output import Output
from mockvllm.answers.prompt import Messages, Renderer, Rendering, content_text, last_user_text
from mockvllm.engine import Request
from mockvllm.server.serving import Draft, Headers, Serving, ServingConfig
from mockvllm.wire.answer import StreamAnswer, WholeAnswer
from mockvllm.wire.body import parse_body
from mockvllm.wire.chat_events import ChatResponse, ChatShape
from mockvllm.wire.chat_logprobs import ChatLogprobs, prompt_logprobs
from mockvllm.wire.chat_request import ChatCompletionRequest, tool_definition
from mockvllm.wire.checks import check_body
from mockvllm.wire.context import Asked, asked
from mockvllm.wire.conversation import parse_chat_messages
from mockvllm.wire.errors import APIError, invalid
from mockvllm.wire.features import check_chat_template, check_mm_kwargs, check_tool_parser, tool_choice
from mockvllm.wire.prepared import Answer, Prepared
from mockvllm.wire.response_format import structured_outputs

_RENDERING_FIELDS = frozenset(
    (
        "add_generation_prompt", "chat_template_kwargs", "continue_final_message", "documents", "reasoning_effort",
        "tools",
    )
)  # fmt: skip
_RESPONSE_FIELDS = frozenset(
    (
        "echo", "logprobs", "prompt_logprobs", "return_prompt_text", "return_token_ids", "return_weight_versions",
        "top_logprobs",
    )
)  # fmt: skip
_AS_USUAL = Rendering()


class ChatServing(Serving):
    """Made once a server; `prepare` once a request."""

    def __init__(self, config: ServingConfig) -> None:
        super().__init__(config)
        self._shape = ChatShape(config.model_names[0], config.wire, config.usage, config.system_fingerprint)
        self._model_basename = config.model.rstrip("/").rpartition("/")[2]

    def prepare(self, body: bytes, headers: Headers, now: float) -> Prepared[Request]:
        """`now`: the engine's clock, in seconds. Raises APIError for a request refused before anything is sent."""
        lookup = dict(headers)
        fields = parse_body(body, lookup.get(b"content-type"))
        check_body(fields)
        request = ChatCompletionRequest.parse(fields)
        self._check_features(request)
        ask = asked(request.given)
        self.window.check_request(ask)
        renderer = self._renderer(request)
        takes_parts = renderer.takes_parts
        conversation = parse_chat_messages(request.messages, self._model_basename, takes_parts=takes_parts)
        prompt = self._render(request, renderer, conversation)
        draft = self._draft(request, ask, prompt, lookup, now)
        failure = self.admission_failure(draft, lookup)
        if failure is not None:
            return self._refused(draft, conversation, failure)
        user_text = last_user_text(conversation)
        directive = self.scripting.directive(user_text, fields, lookup)
        scripts = self.scripting.scripts(draft.request_id, draft.values, user_text, directive)
        choices = self.engine_requests(draft, scripts)
        answer = self._answer(draft, self._response(draft, conversation, choices), self.outputs(request, scripts))
        origin = scripts[0].origin
        return Prepared(draft.request_id, bool(request.stream), choices, answer, origin, model=request.model)

    def _check_features(self, request: ChatCompletionRequest) -> None:
        """The model's name, and what the server must have been started for."""
        config = self.config
        self.check_model(request.model)
        check_tool_parser(request, config.tool_call_parser, auto=config.enable_auto_tool_choice)
        if not config.trust_request_chat_template:
            check_chat_template(request)
        if config.wire.distrusts_mm_kwargs and not config.trust_request_mm_kwargs:
            check_mm_kwargs(request)

    def _renderer(self, request: ChatCompletionRequest) -> Renderer:
        if request.chat_template is None or self.config.request_template is None:
            return self.config.renderer
        try:
            return self.config.request_template(request.chat_template)
        except ValueError as error:
            raise invalid(str(error)) from None

    def _render(self, request: ChatCompletionRequest, renderer: Renderer, conversation: Messages) -> str:
        how = _AS_USUAL if _RENDERING_FIELDS.isdisjoint(request.given) else self._rendering(request)
        try:
            return renderer.render(conversation, how)
        except ValueError as error:
            raise invalid(str(error)) from None

    def _rendering(self, request: ChatCompletionRequest) -> Rendering:
        variables = {**self.config.default_chat_template_kwargs}
        if request.reasoning_effort is not None:
            variables["reasoning_effort"] = request.reasoning_effort
            variables["enable_thinking"] = request.reasoning_effort != "none"
        variables.update(request.chat_template_kwargs or {})
        tools = [tool_definition(tool) for tool in request.tools or ()]
        if self.config.exclude_tools_when_tool_choice_none and tool_choice(request) == "none":
            tools = []
        return Rendering(
            request.add_generation_prompt,
            request.continue_final_message,
            tools or None,
            request.documents,
            variables,
        )

    def _draft(
        self, request: ChatCompletionRequest, ask: Asked, prompt: str, headers: Mapping[bytes, bytes], now: float
    ) -> Draft:
        token_ids = self.tokenize(request, ask, prompt)
        constraint = structured_outputs(request.response_format, request.structured_outputs)
        values = self.sampling(request, self.window.max_tokens(ask, len(token_ids)))
        if constraint is not None:
            values["structured_outputs"] = constraint
        if request.logprobs:
            self._add_num_logprobs(request, values)
        if request.echo and request.top_logprobs and request.prompt_logprobs is None:
            values["prompt_logprobs"] = request.top_logprobs
        request_id = self.response_id("chatcmpl-", request.request_id, headers)
        return Draft(request_id, request, now, self.priority(request, headers), prompt, token_ids, values)

    def _add_num_logprobs(self, request: ChatCompletionRequest, values: dict[str, Any]) -> None:
        """How many candidates a token shows; 0.30 takes `top_logprobs: null` for none at all."""
        if request.top_logprobs is not None or self.config.wire.null_top_logprobs_counts:
            values["num_logprobs"] = request.top_logprobs or 0

    def _refused(self, draft: Draft, conversation: Messages, failure: APIError) -> Prepared[Request]:
        if not draft.request.stream:
            raise failure
        answer = StreamAnswer(self._response(draft, conversation, ()), (), len(draft.prompt_token_ids), can_stop=False)
        return Prepared(draft.request_id, True, (), answer, failure=failure)

    def _response(self, draft: Draft, conversation: Messages, choices: Sequence[Request]) -> ChatResponse:
        request, config = draft.request, self.config
        response = ChatResponse(
            self._shape,
            draft.request_id,
            int(config.wall_clock()),
            config.response_role if request.add_generation_prompt else conversation[-1]["role"],
            len(choices),
            len(draft.prompt_token_ids),
            choices,
        )
        self._add_usage(response, request)
        if not _RESPONSE_FIELDS.isdisjoint(request.given):
            self._add_extras(response, draft, conversation)
        return response

    def _add_usage(self, response: ChatResponse, request: ChatCompletionRequest) -> None:
        options = request.stream_options
        if self.config.enable_force_include_usage:
            response.include_usage = response.continuous_usage = True
        elif options is not None and options.include_usage:
            response.include_usage = True
            response.continuous_usage = bool(options.continuous_usage_stats)

    def _add_extras(self, response: ChatResponse, draft: Draft, conversation: Messages) -> None:
        request = draft.request
        if request.return_token_ids:
            response.return_token_ids = True
            response.prompt_token_ids = draft.prompt_token_ids
        response.return_weight_versions = request.return_weight_versions
        if request.return_prompt_text:
            response.prompt_text = draft.prompt
        if request.echo and conversation[-1]["role"] == response.role:
            response.echo = content_text(conversation[-1]["content"])
        self._add_logprobs(response, draft)

    def _add_logprobs(self, response: ChatResponse, draft: Draft) -> None:
        request, values = draft.request, draft.values
        num = values.get("num_logprobs")
        if num is not None:
            token_ids = request.logprob_token_ids
            as_ids = request.return_tokens_as_token_ids
            as_token_ids = self.config.return_tokens_as_token_ids if as_ids is None else as_ids
            choices = self.logprobs(num, token_ids, response.num_choices)
            response.logprobs = ChatLogprobs(choices, -1 if token_ids else num, as_token_ids=as_token_ids)
        num_prompt = values.get("prompt_logprobs")
        if num_prompt is not None and not request.stream:
            alternatives = self.scripting.speaker.alternatives
            positions = logprobs_of_prompt(self.config.tokenizer, alternatives, draft.prompt_token_ids, num_prompt)
            response.prompt_logprobs = prompt_logprobs(positions)

    def _answer(self, draft: Draft, response: ChatResponse, outputs: Sequence[Output]) -> Answer:
        request, num_prompt_tokens, can_stop = draft.request, len(draft.prompt_token_ids), bool(draft.request.stop)
        if not request.stream:
            return WholeAnswer(response, outputs, num_prompt_tokens, can_stop=can_stop)
        interval = max(self.config.stream_interval, request.stream_interval or 1)
        return StreamAnswer(response, outputs, num_prompt_tokens, can_stop=can_stop, interval=interval)
