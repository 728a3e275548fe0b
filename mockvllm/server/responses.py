"""/v1/responses: a request for a response is a chat request, whose answer has another shape."""

from collections.abc import Sequence

from mockvllm.answers.output import Output
from mockvllm.engine import Request
from mockvllm.profiles.responses import ResponsesRules
from mockvllm.server.asgi import lookup
from mockvllm.server.chat import ChatServing
from mockvllm.server.draft import Draft, Headers, Prompt
from mockvllm.server.responses_store import ResponsesStore
from mockvllm.server.serving import Response
from mockvllm.server.serving_options import ServingConfig
from mockvllm.wire.body import parse_body
from mockvllm.wire.chat_request import ChatCompletionRequest
from mockvllm.wire.context import Asked
from mockvllm.wire.features import check_mm_kwargs
from mockvllm.wire.prepared import Answer, Prepared
from mockvllm.wire.responses_chat import ResponsesChatRequest, chat_request, check_one_constraint
from mockvllm.wire.responses_checks import NO_STORE, TWO_PASTS, check_responses_body, refused
from mockvllm.wire.responses_events import ResponsesResponse, ResponsesStream, Wanted
from mockvllm.wire.responses_input import Message, output_messages
from mockvllm.wire.responses_object import ResponseObject, ResponsesShape
from mockvllm.wire.responses_request import ResponsesRequest
from mockvllm.wire.stop_strings import limit_stop_strings


class ResponsesServing(ChatServing):
    id_prefix = "resp_"

    def __init__(self, config: ServingConfig, rules: ResponsesRules, store: ResponsesStore) -> None:
        super().__init__(config)
        self.store = store
        self._rules = rules
        self._origin = limit_stop_strings(ResponsesRequest, config.max_stop_strings)
        self._shape = ResponsesShape(config.model_names[0], rules, config.usage)

    def prepare(self, body: bytes, headers: Headers, now: float) -> Prepared[Request]:
        found = lookup(headers)
        fields = parse_body(body, found.get(b"content-type"))
        origin = self._origin.parse(check_responses_body(fields), self._rules.absent_fields)
        self.config.check_model(origin.model)
        self._check_store(origin)
        return self.serve(chat_request(origin, self._history(origin)), fields, found, now)

    def check(self, request: ChatCompletionRequest) -> None:
        """Tools need no parser: without one what is said is text (vLLM)."""
        if self.config.wire.distrusts_mm_kwargs and not self.config.trust_request_mm_kwargs:
            check_mm_kwargs(request)

    def asked(self, request: ChatCompletionRequest) -> Asked:
        return Asked("max_output_tokens", request.max_completion_tokens, request.truncate_prompt_tokens)

    def render(self, request: ChatCompletionRequest, ask: Asked) -> Sequence[Prompt]:
        prompts = super().render(request, ask)
        length, most = len(prompts[0].token_ids), self.config.max_model_len
        if length >= most:
            problem = f"The engine prompt length {length} exceeds the max_model_len {most}."
            raise refused(f"{problem} Please reduce prompt.", "input")
        check_one_constraint(_origin(request))
        return prompts

    def response(self, draft: Draft[ChatCompletionRequest], choices: Sequence[Request]) -> Response:
        origin, prompt = _origin(draft.request), draft.prompts[0]
        created_at = int(self.config.wall_clock())
        shown = ResponseObject(self._shape, draft.request_id, created_at, origin, prompt.values)
        stored = bool(origin.store and self.store.enabled and choices)
        wanted = Wanted(
            (prompt.text, prompt.token_ids) if origin.enable_response_messages else None,
            self.store.keep if stored else None,
        )
        if stored:
            self.store.begin(draft.request_id, draft.request.messages)
        if stored and origin.background:
            self.store.keep(shown.begun("queued"))
        chat = self._responses.make(draft, choices)
        return ResponsesResponse(shown, self._rules, chat, wanted, parsed=self.parsers.exist)

    def answer(self, request: ChatCompletionRequest, response: Response, outputs: Sequence[Output]) -> Answer:
        if not request.stream:
            return super().answer(request, response, outputs)
        can_stop, interval = bool(request.stop), self.config.stream_interval
        return ResponsesStream(response, outputs, response.num_prompt_tokens, can_stop=can_stop, interval=interval)

    def _check_store(self, origin: ResponsesRequest) -> None:
        if origin.background and origin.store and not self.store.enabled:
            raise refused(NO_STORE, "background")
        if origin.previous_input_messages and origin.previous_response_id:
            raise refused(TWO_PASTS, "previous_response_id")

    def _history(self, origin: ResponsesRequest) -> Sequence[Message]:
        """What was said before: instructions are those of one response alone."""
        earlier = origin.previous_response_id
        if earlier is None:
            return ()
        output = self.store.find(earlier)["output"]
        asked = [message for message in self.store.conversation(earlier) if message["role"] != "system"]
        return [*asked, *output_messages(output)]


def _origin(request: ChatCompletionRequest) -> ResponsesRequest:
    if not isinstance(request, ResponsesChatRequest):
        raise TypeError("made for another endpoint")
    return request.origin
