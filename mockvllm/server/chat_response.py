"""What a chat request asks of its response, besides the text."""

from collections.abc import Sequence

from mockvllm.answers.logprobs import Logprobs
from mockvllm.answers.logprobs import prompt_logprobs as logprobs_of_prompt
from mockvllm.answers.prompt import Messages, content_text
from mockvllm.engine import Request
from mockvllm.server.serving import Draft, Serving
from mockvllm.wire.chat_events import ChatResponse
from mockvllm.wire.chat_logprobs import ChatLogprobs, prompt_logprobs
from mockvllm.wire.chat_shape import ChatShape

_RESPONSE_FIELDS = frozenset(
    (
        "echo",
        "logprobs",
        "prompt_logprobs",
        "return_prompt_text",
        "return_token_ids",
        "return_weight_versions",
        "top_logprobs",
    )
)


class ChatResponses:
    """Makes the responses of one server."""

    def __init__(self, serving: Serving) -> None:
        config = serving.config
        self._serving = serving
        self._config = config
        self._shape = ChatShape(config.model_names[0], config.wire, config.usage, config.system_fingerprint)

    def make(self, draft: Draft, conversation: Messages, choices: Sequence[Request]) -> ChatResponse:
        """`choices`: none when the engine refuses the request."""
        request, config = draft.request, self._config
        response = ChatResponse(
            self._shape,
            draft.request_id,
            int(config.wall_clock()),
            config.response_role if request.add_generation_prompt else conversation[-1]["role"],
            len(choices),
            len(draft.prompt_token_ids),
            choices,
        )
        self._add_usage(response, draft)
        if not _RESPONSE_FIELDS.isdisjoint(request.given):
            self._add_prompt(response, draft, conversation)
            self._add_logprobs(response, draft)
        return response

    def _add_usage(self, response: ChatResponse, draft: Draft) -> None:
        options = draft.request.stream_options
        if self._config.enable_force_include_usage:
            response.include_usage = response.continuous_usage = True
        elif options is not None and options.include_usage:
            response.include_usage = True
            response.continuous_usage = bool(options.continuous_usage_stats)

    def _add_prompt(self, response: ChatResponse, draft: Draft, conversation: Messages) -> None:
        request = draft.request
        response.return_weight_versions = request.return_weight_versions
        if request.return_token_ids:
            response.return_token_ids = True
            response.prompt_token_ids = draft.prompt_token_ids
        if request.return_prompt_text:
            response.prompt_text = draft.prompt
        if request.echo and conversation[-1]["role"] == response.role:
            response.echo = content_text(conversation[-1]["content"])

    def _add_logprobs(self, response: ChatResponse, draft: Draft) -> None:
        request, tokenizer = draft.request, self._config.tokenizer
        alternatives = self._serving.scripting.speaker.alternatives
        num, token_ids = draft.values.get("num_logprobs"), request.logprob_token_ids
        if num is not None:
            as_ids = request.return_tokens_as_token_ids
            as_token_ids = self._config.return_tokens_as_token_ids if as_ids is None else as_ids
            choices = [Logprobs(tokenizer, alternatives, num, token_ids) for _ in range(response.num_choices)]
            response.logprobs = ChatLogprobs(choices, -1 if token_ids else num, as_token_ids=as_token_ids)
        num_prompt = draft.values.get("prompt_logprobs")
        if num_prompt is not None and not request.stream:
            positions = logprobs_of_prompt(tokenizer, alternatives, draft.prompt_token_ids, num_prompt)
            response.prompt_logprobs = prompt_logprobs(positions)
