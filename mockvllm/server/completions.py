"""/v1/completions: how its requests are read, and how its answers look."""

from collections.abc import Mapping, Sequence
from typing import Any

from mockvllm.engine import Request
from mockvllm.server.completion_response import CompletionResponses
from mockvllm.server.draft import Draft, Prompt
from mockvllm.server.serving import Response, Serving
from mockvllm.server.serving_options import ServingConfig
from mockvllm.wire.admission import check_token_ids
from mockvllm.wire.completion_checks import check_beam_echo, check_completion
from mockvllm.wire.completion_request import CompletionRequest
from mockvllm.wire.context import Asked
from mockvllm.wire.errors import APIError, invalid
from mockvllm.wire.stop_strings import limit_stop_strings


class CompletionServing(Serving[CompletionRequest]):
    id_prefix = "cmpl-"

    def __init__(self, config: ServingConfig) -> None:
        super().__init__(config)
        request = CompletionRequest.without_null(config.wire.fields_without_null)
        self._request = limit_stop_strings(request, config.max_stop_strings)
        self._responses = CompletionResponses(config, self.scripting)

    def parse(self, fields: Mapping[str, Any]) -> CompletionRequest:
        check_completion(fields, self.config.max_completion_prompts)
        if self.config.wire.beam_search_checks_echo:
            check_beam_echo(fields)
        return self._request.parse(fields, self.config.wire.absent_fields)

    def check(self, request: CompletionRequest) -> None:
        if request.stream and request.use_beam_search:
            raise invalid("Streaming is not currently supported with beam search")
        self.config.check_model(request.model)
        if request.suffix is not None:
            raise self._suffix()
        if request.prompt_embeds is not None:
            _check_prompt_embeds(request)

    def asked(self, request: CompletionRequest) -> Asked:
        wanted = 1 if request.is_only_echo else request.wanted_tokens
        return Asked("max_tokens", wanted, request.truncate_prompt_tokens)

    def render(self, request: CompletionRequest, ask: Asked) -> Sequence[Prompt]:
        prompt = request.prompt
        if not prompt:
            named = "prompt" if self.config.wire.empty_prompt_list_names_field else None
            raise invalid("You must pass at least one prompt", named)
        several = isinstance(prompt, list) and not isinstance(prompt[0], int)
        return [self._prompt(request, ask, one) for one in (prompt if several else (prompt,))]

    def add_logprobs(self, request: CompletionRequest, values: dict[str, Any]) -> None:
        """An echo has those of its tokens as well."""
        if request.logprobs is None:
            return
        if request.use_beam_search and request.echo:  # 0.30 finds no log-probabilities of the prompt, and fails
            raise APIError(500, "", "InternalServerError")
        values["num_logprobs"] = request.logprobs
        if request.echo and request.prompt_logprobs is None:
            values["prompt_logprobs"] = request.logprobs

    def admission_failure(self, prompt: Prompt, headers: Mapping[bytes, bytes]) -> APIError | None:
        failure = super().admission_failure(prompt, headers)
        if failure is None and prompt.is_given_as_tokens:
            failure = check_token_ids(prompt.token_ids, self.config.tokenizer.vocab_size)
        return failure

    def response(self, draft: Draft[CompletionRequest], choices: Sequence[Request]) -> Response:
        return self._responses.make(draft, choices)

    def engine_id(self, request_id: str, index: int) -> str:
        return f"{request_id}-{index}"

    def _prompt(self, request: CompletionRequest, ask: Asked, given: Any) -> Prompt:
        """`given`: a text, or its tokens."""
        if isinstance(given, str):
            return Prompt(given, self.tokenize(request, ask, given), given)
        token_ids = self.fit(request, ask, given)
        text = self.config.tokenizer.decode(token_ids)
        incomplete = self.config.tokenizer.incomplete(token_ids)
        return Prompt(text, token_ids, text, incomplete=incomplete, is_given_as_tokens=True)

    def _suffix(self) -> APIError:
        if not self.config.wire.suffix_names_fim:
            return APIError(400, "suffix is not currently supported")
        return APIError(400, "suffix is only supported for models with FIM completion rendering", param="suffix")


def _check_prompt_embeds(request: CompletionRequest) -> None:
    """There is no model whose embeddings they could be: never enabled."""
    if request.echo:
        raise invalid("Echo is unsupported with prompt embeds.")
    if request.prompt_logprobs is not None:
        raise invalid("prompt_logprobs is not compatible with prompt embeds.")
    raise invalid("You must set `--enable-prompt-embeds` to input `prompt_embeds`.", "prompt_embeds")
