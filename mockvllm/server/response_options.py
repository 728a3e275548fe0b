"""What a request asks of its response besides the text, whatever the endpoint."""

from collections.abc import Iterator, Sequence
from typing import Any

from mockvllm.answers.logprobs import Logprobs, TokenLogprob, prompt_logprobs
from mockvllm.server.draft import Prompt
from mockvllm.server.scripting import Scripting
from mockvllm.server.serving_options import ServingConfig
from mockvllm.wire.generation_request import GenerationRequest
from mockvllm.wire.response import Response


class ResponseOptions:
    """What the makers of responses share."""

    def __init__(self, config: ServingConfig, scripting: Scripting) -> None:
        self._config = config
        self._alternatives = scripting.speaker.alternatives
        self._tokenizer = config.tokenizer

    def add_usage(self, response: Response, request: GenerationRequest) -> None:
        options = request.stream_options
        if self._config.enable_force_include_usage:
            response.include_usage = response.continuous_usage = True
        elif options is not None and options.include_usage:
            response.include_usage = True
            response.continuous_usage = bool(options.continuous_usage_stats)

    def as_token_ids(self, request: GenerationRequest) -> bool:
        """Whether log-probabilities name tokens by their ids."""
        asked = request.return_tokens_as_token_ids
        return self._config.return_tokens_as_token_ids if asked is None else asked

    def logprobs(self, request: GenerationRequest, values: dict[str, Any], num_choices: int) -> list[Logprobs] | None:
        """Those of each choice; None if they are not wanted."""
        num = values.get("num_logprobs")
        if num is None:
            return None
        token_ids = request.logprob_token_ids
        return [Logprobs(self._tokenizer, self._alternatives, num, token_ids) for _ in range(num_choices)]

    def prompt_logprobs(self, prompt: Prompt) -> Iterator[Sequence[TokenLogprob]] | None:
        """Those of a prompt's tokens from the second on; None if they are not wanted."""
        num = prompt.values.get("prompt_logprobs")
        return None if num is None else prompt_logprobs(self._tokenizer, self._alternatives, prompt.token_ids, num)
