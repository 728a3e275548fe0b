"""/v1/chat/completions: how its requests are read, and how its answers look."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from mockvllm.answers.directives import Directive
from mockvllm.answers.prompt import last_user_text
from mockvllm.answers.reasoning import END, START
from mockvllm.answers.speaker import SENTENCE
from mockvllm.engine import Request
from mockvllm.server.chat_parsers import ChatParsers
from mockvllm.server.chat_prompt import ChatPrompts
from mockvllm.server.chat_response import ChatResponses
from mockvllm.server.chat_tools import ChatTools
from mockvllm.server.draft import Draft, Prompt
from mockvllm.server.serving import Response, Serving
from mockvllm.server.serving_options import ServingConfig
from mockvllm.wire.admission import check_token_ids
from mockvllm.wire.chat_request import ChatCompletionRequest
from mockvllm.wire.checks import check_body, reused_prompt_token_ids
from mockvllm.wire.context import Asked, asked
from mockvllm.wire.errors import APIError
from mockvllm.wire.features import check_tool_parser
from mockvllm.wire.stop_strings import limit_stop_strings

_BINDING = frozenset(("tools", "response_format", "structured_outputs"))
_FEATURES = frozenset(("tools", "chat_template", "chat_template_kwargs", "media_io_kwargs", "mm_processor_kwargs"))
"""Fields for which the server must have been started."""


class ChatServing(Serving[ChatCompletionRequest]):
    id_prefix = "chatcmpl-"

    def __init__(self, config: ServingConfig) -> None:
        super().__init__(config)
        request = ChatCompletionRequest.without_null(config.wire.fields_without_null)
        self._request = limit_stop_strings(request, config.max_stop_strings)
        self._prompts = ChatPrompts(config)
        self.parsers = ChatParsers(config)
        self._tools = ChatTools(config, self.parsers.tool_format)
        self._responses = ChatResponses(config, self.scripting, self.parsers)

    def parse(self, fields: Mapping[str, Any]) -> ChatCompletionRequest:
        check_body(fields)
        return self._request.parse(fields, self.config.wire.absent_fields)

    def check(self, request: ChatCompletionRequest) -> None:
        config = self.config
        config.check_model(request.model)
        if _FEATURES.isdisjoint(request.given):
            return
        check_tool_parser(request, config.tool_call_parser)
        self._prompts.check_trust(request)

    def asked(self, request: ChatCompletionRequest) -> Asked:
        return asked(request.given)

    def render(self, request: ChatCompletionRequest, ask: Asked) -> Sequence[Prompt]:
        given = request.kv_transfer_params and self.config.wire.reuses_prompt_token_ids
        token_ids = reused_prompt_token_ids(request.kv_transfer_params) if given else None
        if token_ids is not None:
            return (self._reused(request, ask, token_ids),)
        conversation, text = self._prompts.render(request)
        return (Prompt(text, self.tokenize(request, ask, text), last_user_text(conversation), conversation),)

    def _reused(self, request: ChatCompletionRequest, ask: Asked, token_ids: Sequence[int]) -> Prompt:
        """A prompt that was tokenized where it was computed: the messages say who speaks, and may hold a directive."""
        token_ids = self.fit(request, ask, token_ids)
        conversation = self._prompts.conversation(request)
        incomplete = self.config.tokenizer.incomplete(token_ids)
        text = self.config.tokenizer.decode(token_ids)
        return Prompt(text, token_ids, last_user_text(conversation), conversation, incomplete, is_given_as_tokens=True)

    def admission_failure(self, prompt: Prompt, headers: Mapping[bytes, bytes]) -> APIError | None:
        failure = super().admission_failure(prompt, headers)
        if failure is None and prompt.is_given_as_tokens:
            failure = check_token_ids(prompt.token_ids, self.config.tokenizer.vocab_size)
        return failure

    def add_logprobs(self, request: ChatCompletionRequest, values: dict[str, Any]) -> None:
        """How many candidates a token shows; 0.30 takes `top_logprobs: null` for no log-probabilities at all."""
        top = request.top_logprobs
        if request.logprobs and (top is not None or self.config.wire.null_top_logprobs_counts):
            values["num_logprobs"] = top or 0
        if request.echo and top and request.prompt_logprobs is None:
            values["prompt_logprobs"] = top

    def bind(self, request: ChatCompletionRequest, prompt: Prompt) -> None:
        """Tools bind an answer to their calls; a grammar holds behind the reasoning."""
        if _BINDING.isdisjoint(request.given):
            return
        self._tools.bind(request, prompt.values)
        if self.parsers.reasons(request, prompt.text):
            prompt.values["reasoning_end"] = END

    def unscripted(self, request: ChatCompletionRequest, prompt: Prompt) -> Directive | None:
        """A call, or what a grammar wants; behind reasoning, if the answer begins with that."""
        if _BINDING.isdisjoint(request.given):
            return None
        said = self._tools.call(request, prompt) or super().unscripted(request, prompt)
        if said is None or "reasoning_end" not in prompt.values:
            return said
        if self.config.answer != "sentence":
            return None  # all of another answer is reasoning, which nothing binds
        return replace(said, say=f"{START}{SENTENCE}{END}{said.say}")

    def response(self, draft: Draft[ChatCompletionRequest], choices: Sequence[Request]) -> Response:
        return self._responses.make(draft, choices)
