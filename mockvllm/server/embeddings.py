"""/v1/embeddings of a pooling model: its inputs pass the engine as prompts of requests that end with their prefill."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from mockvllm.answers.embedding import embedding, normalized
from mockvllm.engine import Request
from mockvllm.planning.errors import InputError
from mockvllm.planning.hf_config import HFConfig
from mockvllm.server.chat_prompt import ChatPrompts
from mockvllm.server.draft import Draft, Prompt
from mockvllm.server.serving import Response, Serving
from mockvllm.server.serving_options import ServingConfig
from mockvllm.settings import Settings, SettingsError
from mockvllm.settings.model_config import own_config
from mockvllm.wire.admission import check_token_ids
from mockvllm.wire.chat_request import ChatCompletionRequest
from mockvllm.wire.completion_events import CompletionShape
from mockvllm.wire.context import Asked
from mockvllm.wire.embeddings import EmbeddingChatRequest, EmbeddingCompletionRequest, parse_embedding
from mockvllm.wire.embeddings_response import Dimensions, Embedding, EmbeddingResponse, check_form, encoded
from mockvllm.wire.errors import APIError, invalid
from mockvllm.wire.generation_request import GenerationRequest

DEFAULT_SIZE = 1024
"""Numbers of an embedding where no config.json and no --hf-overrides names a `hidden_size`."""
_SHARED = ("model", "priority", "request_id", "cache_salt", "truncation_side")


def embeds(settings: Settings) -> bool:
    """vLLM's `--task embed` of old. There is no architecture that `--runner auto` could look at: --convert tells."""
    pools = settings.runner == "pooling" or (settings.runner == "auto" and settings.convert == "embed")
    return pools and settings.convert != "classify"


def dimensions_of(settings: Settings) -> Dimensions:
    """By the keys of the model's config.json that vLLM reads, over them --hf-overrides. Raises SettingsError."""
    overrides = settings.hf_overrides if isinstance(settings.hf_overrides, Mapping) else {}
    try:
        config = (own_config(settings) or HFConfig({})).over(overrides)
        text = config if config.has("hidden_size") else config.section("text_config") or config
        listed = config.integers("matryoshka_dimensions")
        size = text.positive("hidden_size", default=DEFAULT_SIZE)
        return Dimensions(size, config.flag("is_matryoshka") or bool(listed), listed)
    except InputError as error:
        raise SettingsError(str(error)) from None


class EmbeddedPrompts(GenerationRequest):
    """What the engine is asked for the sake of an embedding request."""

    embedding: EmbeddingCompletionRequest | EmbeddingChatRequest


class EmbeddingServing(Serving[EmbeddedPrompts]):
    id_prefix = "embd-"

    def __init__(self, config: ServingConfig, dimensions: Dimensions) -> None:
        super().__init__(config)
        self.window = replace(self.window, reserves_output=False)
        self._dimensions = dimensions
        self._prompts = ChatPrompts(config)
        self._shape = CompletionShape(config.model_names[0], config.wire, config.usage, config.system_fingerprint)

    def parse(self, fields: Mapping[str, Any]) -> EmbeddedPrompts:
        wanted = parse_embedding(fields)
        shared = {name: getattr(wanted, name) for name in _SHARED}
        request = EmbeddedPrompts.of({**shared, "add_special_tokens": wanted.add_special_tokens, "max_tokens": 1})
        request.embedding = wanted
        return request

    def check(self, request: EmbeddedPrompts) -> None:
        self.config.check_model(request.model)
        check_form(request.embedding)
        self._dimensions.check(request.embedding.dimensions, self.config.model_names[0])

    def asked(self, request: EmbeddedPrompts) -> Asked:
        """The whole window is the prompt's."""
        cut = request.embedding.truncate_prompt_tokens
        return Asked("max_tokens", None, self.config.max_model_len if cut == -1 else cut)

    def render(self, request: EmbeddedPrompts, ask: Asked) -> Sequence[Prompt]:
        wanted = request.embedding
        if isinstance(wanted, EmbeddingChatRequest):
            several = bool(wanted.messages) and isinstance(wanted.messages[0], list)
            conversations = wanted.messages if several else [wanted.messages]
            return [self._text(request, ask, self._rendered(wanted, messages)) for messages in conversations]
        given = wanted.input
        if not given:
            raise invalid("You must pass at least one prompt")
        several = isinstance(given, list) and not isinstance(given[0], int)
        return [self._prompt(request, ask, one) for one in (given if several else (given,))]

    def sampling(self, request: EmbeddedPrompts, max_tokens: int) -> dict[str, Any]:
        """The prefill is all, also of a prompt that fills the window."""
        return super().sampling(request, 1)

    def add_logprobs(self, request: EmbeddedPrompts, values: dict[str, Any]) -> None:
        """There are none."""

    def admission_failure(self, prompt: Prompt, headers: Mapping[bytes, bytes]) -> APIError | None:
        failure = super().admission_failure(prompt, headers)
        if failure is None and prompt.is_given_as_tokens:
            failure = check_token_ids(prompt.token_ids, self.config.tokenizer.vocab_size)
        return failure

    def response(self, draft: Draft[EmbeddedPrompts], choices: Sequence[Request]) -> Response:
        lengths = [len(prompt.token_ids) for prompt in draft.prompts]
        response = EmbeddingResponse(self._shape, draft.request_id, int(self.config.wall_clock()), lengths, choices)
        response.embeddings = partial(self._embeddings, draft)
        return response

    def engine_id(self, request_id: str, index: int) -> str:
        return f"{request_id}-{index}"

    def _embeddings(self, draft: Draft[EmbeddedPrompts]) -> list[Embedding]:
        wanted = draft.request.embedding
        vectors = (
            embedding(prompt.token_ids, self._dimensions.size, self.config.seed)[: wanted.dimensions]
            for prompt in draft.prompts
        )
        plain = wanted.use_activation is False
        return [encoded(vector if plain else normalized(vector), wanted) for vector in vectors]

    def _prompt(self, request: EmbeddedPrompts, ask: Asked, given: Any) -> Prompt:
        if isinstance(given, str):
            return self._text(request, ask, given)
        return Prompt("", self.fit(request, ask, given), "", is_given_as_tokens=True)

    def _text(self, request: EmbeddedPrompts, ask: Asked, text: str) -> Prompt:
        return Prompt(text, self.tokenize(request, ask, text), "")

    def _rendered(self, wanted: EmbeddingChatRequest, messages: Any) -> str:
        prompt = wanted.add_generation_prompt
        chat = ChatCompletionRequest.of({**wanted.given, "messages": messages, "add_generation_prompt": prompt})
        self._prompts.check_trust(chat)
        return self._prompts.render(chat)[1]
