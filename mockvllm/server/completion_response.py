"""What a completion request asks of its response, besides the text."""

from collections.abc import Sequence

from mockvllm.engine import Request
from mockvllm.server.draft import Draft, Prompt
from mockvllm.server.response_options import ResponseOptions
from mockvllm.server.scripting import Scripting
from mockvllm.server.serving_options import ServingConfig
from mockvllm.wire.completion_events import CompletionResponse, CompletionShape, PromptPart
from mockvllm.wire.completion_logprobs import CompletionLogprobs, EchoedPrompt
from mockvllm.wire.completion_request import CompletionRequest
from mockvllm.wire.logprobs import prompt_logprobs

_RESPONSE_FIELDS = frozenset(("echo", "logprobs", "prompt_logprobs", "return_token_ids", "return_weight_versions"))


class CompletionResponses:
    """Makes the responses of one server."""

    def __init__(self, config: ServingConfig, scripting: Scripting) -> None:
        self._config = config
        self._options = ResponseOptions(config, scripting)
        self._shape = CompletionShape(config.model_names[0], config.wire, config.usage, config.system_fingerprint)

    def make(self, draft: Draft[CompletionRequest], choices: Sequence[Request]) -> CompletionResponse:
        """`choices`: none when the engine refuses the request."""
        request, prompts = draft.request, draft.prompts
        response = CompletionResponse(
            self._shape,
            draft.request_id,
            int(self._config.wall_clock()),
            [len(prompt.token_ids) for prompt in prompts],
            choices,
        )
        self._options.add_usage(response, request)
        if choices and not _RESPONSE_FIELDS.isdisjoint(request.given):
            response.return_token_ids = bool(request.return_token_ids)
            response.return_weight_versions = request.return_weight_versions
            response.is_only_echo = request.is_only_echo
            response.prompts = [self._part(request, prompt) for prompt in prompts]
            self._add_logprobs(response, request, prompts)
        return response

    def _part(self, request: CompletionRequest, prompt: Prompt) -> PromptPart:
        """Who wants token ids has the prompt by its ids alone."""
        echo = prompt.text if request.echo and not request.return_token_ids else ""
        shown = request.echo or request.return_token_ids
        positions = None if request.stream else self._options.prompt_logprobs(prompt)
        logprobs = None if positions is None else prompt_logprobs(positions)
        return PromptPart(echo, prompt.token_ids if shown else None, logprobs)

    def _add_logprobs(
        self, response: CompletionResponse, request: CompletionRequest, prompts: Sequence[Prompt]
    ) -> None:
        choices = self._options.logprobs(request, prompts[0].values, response.num_choices)
        if choices is None:
            return
        echoed = [self._echoed(request, response, index, prompt) for index, prompt in enumerate(prompts)]
        response.logprobs = CompletionLogprobs(
            choices,
            [echoed[response.prompt_of(index)] for index in range(response.num_choices)],
            None if request.logprob_token_ids else request.logprobs,
            as_token_ids=self._options.as_token_ids(request),
            continues=self._config.wire.text_offset_continues,
        )

    def _echoed(
        self, request: CompletionRequest, response: CompletionResponse, index: int, prompt: Prompt
    ) -> EchoedPrompt | None:
        if not request.echo:
            return None
        first = prompt.token_ids[0]
        others = list(self._options.prompt_logprobs(prompt) or ())
        return EchoedPrompt(response.prompts[index].echo, (first, self._config.tokenizer.token_text(first)), others)
