"""/v1/chat/completions: from the bytes of a request to what the engine is to do and to what the client will read."""

from mockvllm.answers.prompt import last_user_text, plain_prompt
from mockvllm.engine import Request
from mockvllm.server.serving import Headers, Serving, ServingConfig
from mockvllm.wire.answer import BaseAnswer, StreamAnswer, WholeAnswer
from mockvllm.wire.body import parse_body
from mockvllm.wire.chat_events import ChatResponse, ChatShape
from mockvllm.wire.chat_request import ChatCompletionRequest
from mockvllm.wire.checks import check_body
from mockvllm.wire.conversation import parse_chat_messages
from mockvllm.wire.prepared import Prepared


class ChatServing(Serving):
    """Made once a server; `prepare` once a request."""

    def __init__(self, config: ServingConfig) -> None:
        super().__init__(config)
        self._shape = ChatShape(config.model_names[0], config.wire, config.usage, config.system_fingerprint)

    def prepare(self, body: bytes, headers: Headers, now: float) -> Prepared[Request]:
        """`now`: the engine's clock, in seconds. Raises APIError for a request refused before anything is sent."""
        lookup = dict(headers)
        fields = parse_body(body, lookup.get(b"content-type"))
        check_body(fields)
        request = ChatCompletionRequest.parse(fields)
        self.check_model(request.model)
        self.window.check_request(request)
        messages = parse_chat_messages(request.messages)
        prompt = plain_prompt(messages)
        self.window.check_text(request, prompt)
        token_ids = self.config.tokenizer.encode(prompt, limit=self.window.count_limit(request))
        self.window.check_tokens(request, len(token_ids))
        values = self.sampling(request, self.window.max_tokens(request, len(token_ids)))
        request_id = self.response_id("chatcmpl-", request.request_id, lookup)
        failure = self.admission_failure(values, len(token_ids))
        stream = bool(request.stream)
        if failure is not None and not stream:
            raise failure
        user_text = last_user_text(messages)
        directive = self.scripting.directive(user_text, fields, lookup)
        scripts = self.scripting.scripts(request_id, values, user_text, directive)
        choices = self.choices(request_id, request, values, token_ids, scripts, now, request.priority)
        outputs = self.outputs(request, choices, scripts)
        response = ChatResponse(
            self._shape,
            request_id,
            int(self.config.wall_clock()),
            self.config.response_role,
            len(choices),
            len(token_ids),
            facts=choices,
        )
        if stream and request.stream_options is not None:
            response.include_usage = bool(request.stream_options.include_usage)
            response.continuous_usage = bool(response.include_usage and request.stream_options.continuous_usage_stats)
        answer: BaseAnswer
        if stream:
            interval = max(self.config.stream_interval, request.stream_interval or 1)
            answer = StreamAnswer(response, outputs, len(token_ids), can_stop=bool(request.stop), interval=interval)
        else:
            answer = WholeAnswer(response, outputs, len(token_ids), can_stop=bool(request.stop))
        return Prepared(request_id, stream, choices, answer, scripts[0].origin._asdict(), failure)
