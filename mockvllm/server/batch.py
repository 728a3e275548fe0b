"""/v1/chat/completions/batch: each conversation is a chat request of its own; one body has all their choices."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from mockvllm.answers.output import Output
from mockvllm.engine import Request
from mockvllm.server.chat import ChatServing
from mockvllm.server.draft import Draft, Prompt
from mockvllm.server.serving import Response
from mockvllm.server.serving_options import NO_USAGE_DETAILS, ServingConfig
from mockvllm.wire.answer import LastEventAnswer, WholeAnswer
from mockvllm.wire.batch_request import BatchChatCompletionRequest, check_batch
from mockvllm.wire.chat_request import ChatCompletionRequest
from mockvllm.wire.context import Asked
from mockvllm.wire.prepared import Answer
from mockvllm.wire.stop_strings import limit_stop_strings


class Batch(ChatCompletionRequest):
    """What its conversations have in common. `wants_stream`: was asked for, and is not given."""

    conversations: Sequence[ChatCompletionRequest]
    wants_stream: bool


class BatchServing(ChatServing):
    def __init__(self, config: ServingConfig) -> None:
        super().__init__(replace(config, usage=NO_USAGE_DETAILS))
        self._batch = limit_stop_strings(BatchChatCompletionRequest, config.max_stop_strings)

    def parse(self, fields: Mapping[str, Any]) -> Batch:
        check_batch(fields)
        self._batch.parse(fields)
        common = {name: value for name, value in fields.items() if value is not None}
        conversations = [super(BatchServing, self).parse({**common, "messages": one}) for one in fields["messages"]]
        batch = Batch.of({**conversations[0].given, "stream": False})
        batch.conversations = conversations
        batch.wants_stream = bool(conversations[0].stream)
        return batch

    def check(self, request: ChatCompletionRequest) -> None:
        self.config.check_model(request.model)
        self._prompts.check_trust(request)

    def render(self, request: ChatCompletionRequest, ask: Asked) -> Sequence[Prompt]:
        assert isinstance(request, Batch)
        return [super(BatchServing, self).render(one, ask)[0] for one in request.conversations]

    def response(self, draft: Draft[ChatCompletionRequest], choices: Sequence[Request]) -> Response:
        """Nothing is said of the prompts."""
        response = self._responses.make(draft, choices)
        response.prompt_token_ids = response.prompt_logprobs = response.prompt_text = None
        return response

    def answer(self, request: ChatCompletionRequest, response: Response, outputs: Sequence[Output]) -> Answer:
        """Who asks for a stream gets a body of what each stream's last event would have said."""
        assert isinstance(request, Batch)
        kind = LastEventAnswer if request.wants_stream else WholeAnswer
        return kind(response, outputs, response.num_prompt_tokens, can_stop=bool(request.stop))

    def engine_id(self, request_id: str, index: int) -> str:
        return f"{request_id}_{index}"
