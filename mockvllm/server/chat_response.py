"""What a chat request asks of its response, besides the text."""

from collections.abc import Sequence

from mockvllm.answers.prompt import content_text
from mockvllm.engine import Request
from mockvllm.server.chat_parsers import ChatParsers
from mockvllm.server.draft import Draft, Prompt
from mockvllm.server.response_options import ResponseOptions
from mockvllm.server.scripting import Scripting
from mockvllm.server.serving_options import ServingConfig
from mockvllm.wire.chat_events import ChatResponse, Role
from mockvllm.wire.chat_logprobs import ChatLogprobs
from mockvllm.wire.chat_parsed import ParsedChatResponse
from mockvllm.wire.chat_request import ChatCompletionRequest
from mockvllm.wire.chat_shape import ChatShape
from mockvllm.wire.features import tool_choice
from mockvllm.wire.logprobs import prompt_logprobs
from mockvllm.wire.reasoning import ReasoningTokens

_RESPONSE_FIELDS = frozenset(
    (
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

    def __init__(self, config: ServingConfig, scripting: Scripting, parsers: ChatParsers) -> None:
        self._config = config
        self._parsers = parsers
        self._options = ResponseOptions(config, scripting)
        self._usual = (Role(config.response_role),)
        self._shape = ChatShape(config.model_names[0], config.wire, config.usage, config.system_fingerprint)

    def make(self, draft: Draft[ChatCompletionRequest], choices: Sequence[Request]) -> ChatResponse:
        """`choices`: none when the engine refuses the request."""
        request, prompts = draft.request, draft.prompts
        kind = ParsedChatResponse if self._parsers.exist else ChatResponse
        response = kind(
            self._shape,
            draft.request_id,
            int(self._config.wall_clock()),
            self._roles(request, prompts),
            [len(prompt.token_ids) for prompt in prompts],
            choices,
        )
        self._options.add_usage(response, request)
        if not _RESPONSE_FIELDS.isdisjoint(request.given):
            self._add_prompt(response, request, prompts[0])
            self._add_logprobs(response, request, prompts[0])
        if isinstance(response, ParsedChatResponse):
            self._add_parsers(response, request, prompts)
        return response

    def _add_parsers(
        self, response: ParsedChatResponse, request: ChatCompletionRequest, prompts: Sequence[Prompt]
    ) -> None:
        texts = [prompts[response.prompt_of(index)].text for index in range(response.num_choices)]
        response.parsers = parsers = [self._parsers.parser(request, text) for text in texts]
        choice = tool_choice(request)
        response.named_call = not isinstance(choice, str)
        response.forced_call = response.named_call or choice == "required"
        response.single_call = request.parallel_tool_calls is False
        counts = [parser.reasoning_count for parser in parsers if parser.reasoning_count is not None]
        if self._config.reasoning_parser:
            tokenizer = self._config.tokenizer
            end_ids = (tokenizer.eos_token_id, *tokenizer.extra_end_ids)
            response.reasoning = ReasoningTokens(counts, tokenizer.token_text, end_ids)
        if not request.include_reasoning:  # what hides reasoning hides its tokens
            response.logprobs, response.return_token_ids = None, False

    def _roles(self, request: ChatCompletionRequest, prompts: Sequence[Prompt]) -> Sequence[Role]:
        if request.add_generation_prompt and not request.echo:
            return self._usual * len(prompts)
        return [self._role(request, prompt) for prompt in prompts]

    def _role(self, request: ChatCompletionRequest, prompt: Prompt) -> Role:
        name = self._config.response_role if request.add_generation_prompt else prompt.conversation[-1]["role"]
        last = prompt.conversation[-1]
        echoes = request.echo and last["role"] == name and not prompt.is_given_as_tokens
        return Role(name, content_text(last["content"]) if echoes else "")

    def _add_prompt(self, response: ChatResponse, request: ChatCompletionRequest, prompt: Prompt) -> None:
        response.return_weight_versions = request.return_weight_versions
        if request.return_token_ids:
            response.return_token_ids = True
            response.prompt_token_ids = prompt.token_ids
        if request.return_prompt_text:
            response.prompt_text = prompt.text

    def _add_logprobs(self, response: ChatResponse, request: ChatCompletionRequest, prompt: Prompt) -> None:
        options = self._options
        logprobs = options.logprobs(request, prompt.values, response.num_choices)
        if logprobs is not None:
            top = -1 if request.logprob_token_ids else prompt.values["num_logprobs"]
            response.logprobs = ChatLogprobs(logprobs, top, as_token_ids=options.as_token_ids(request))
        positions = options.prompt_logprobs(prompt)
        if positions is not None and not request.stream:
            response.prompt_logprobs = prompt_logprobs(positions)
