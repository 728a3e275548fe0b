"""/tokenize, /detokenize and /tokenizer_info: what the server's tokenizer and chat template make of a text."""

from collections.abc import Iterable, Sequence
from typing import Any

from mockvllm.server.asgi import lookup
from mockvllm.server.chat_prompt import ChatPrompts
from mockvllm.server.serving_options import ServingConfig
from mockvllm.wire.body import parse_body
from mockvllm.wire.chat_request import ChatCompletionRequest
from mockvllm.wire.errors import invalid
from mockvllm.wire.jsontext import compact
from mockvllm.wire.tokenize import (
    DetokenizeRequest,
    TokenizeChatRequest,
    TokenizeCompletionRequest,
    parse_tokenize,
    tokenize_body,
)

Headers = Iterable[tuple[bytes, bytes]]


class Tokenization:
    """Each method takes a request's body and headers and gives the body of its answer, or raises APIError."""

    def __init__(self, config: ServingConfig) -> None:
        self._config = config
        self._tokenizer = config.tokenizer
        self._prompts = ChatPrompts(config)

    def tokenize(self, body: bytes, headers: Headers) -> bytes:
        """However long the prompt is."""
        request = parse_tokenize(parse_body(body, lookup(headers).get(b"content-type"), num_forms=2))
        self._config.check_model(request.model)
        text = self._rendered(request) if isinstance(request, TokenizeChatRequest) else request.prompt
        token_ids = self._encode(request, text)
        token_strs = self._tokenizer.pieces(token_ids) if request.return_token_strs else None
        return tokenize_body(token_ids, self._config.max_model_len, token_strs)

    def detokenize(self, body: bytes, headers: Headers) -> bytes:
        """Tokens that nobody knows have no text."""
        request = DetokenizeRequest.parse(parse_body(body, lookup(headers).get(b"content-type")))
        self._config.check_model(request.model)
        return compact({"prompt": self._tokenizer.decode(request.tokens)})

    def info(self) -> bytes:
        """The tokenizer's settings as it was loaded, the chat template included."""
        config, own = self._config, self._tokenizer.info()
        is_local = config.model.startswith(("/", "."))
        template = {} if config.chat_template is None else {"chat_template": config.chat_template}
        loaded: dict[str, Any] = {"truncation_side": "left", "name_or_path": config.model}
        loaded |= {"is_local": is_local, "local_files_only": is_local}
        backend = {"backend": own["backend"]} if "backend" in own else {}
        settings = {name: value for name, value in own.items() if name != "backend"}
        return compact({"tokenizer_class": own["tokenizer_class"]} | settings | template | loaded | backend)

    def _rendered(self, request: TokenizeChatRequest) -> str:
        chat = ChatCompletionRequest.of(request.given)
        self._prompts.check_trust(chat)
        return self._prompts.render(chat)[1]

    def _encode(self, request: TokenizeCompletionRequest | TokenizeChatRequest, text: str) -> Sequence[int]:
        try:
            return self._tokenizer.encode(text, add_special_tokens=request.add_special_tokens)
        except TypeError as error:  # a lone surrogate is no text to the tokenizers package
            raise invalid(str(error)) from None
