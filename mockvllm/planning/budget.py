"""What a request costs before it is sent: price, tokens by language, the guess of a gateway without a tokenizer."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mockvllm.planning import reference
from mockvllm.planning.errors import InputError
from mockvllm.planning.hf_config import read_json

Message = Mapping[str, object]

# Tokens per word of Llama 3.1 70B's tokenizer on news (Nayeem et al. 2025).
FERTILITY: Mapping[str, float] = {"en": 1.23, "es": 1.61}
_LANGUAGES = {"english": "en", "spanish": "es", "español": "es"}

CHARACTERS_PER_TOKEN = 3.0
TOKENS_PER_MESSAGE = 4

CHATS: Mapping[str, Sequence[Message]] = {
    language: ({"role": "system", "content": system}, {"role": "user", "content": user})
    for language, system, user in (
        (
            "en",
            "You are the support assistant of an online shop: answer briefly and never invent any information.",
            "I ordered new headphones last Monday, long ago: when will they all arrive here?",
        ),
        (
            "es",
            "Eres el asistente de una tienda en línea: responde breve, solo en español y sin inventar información.",
            "Compré unos audífonos el lunes pasado y no llegan: ¿cuándo estarían aquí?",
        ),
    )
}


@dataclass(frozen=True, slots=True)
class Prices:
    """US$ per million tokens."""

    input: float = 2.50
    output: float = 10.00

    def cost(self, input_tokens: float, output_tokens: float) -> float:
        """US$."""
        return (input_tokens * self.input + output_tokens * self.output) / 1e6


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """US$, and the output's shares of it and of the tokens."""

    total: float
    output_cost_share: float
    output_token_share: float


def cost(prices: Prices, input_tokens: int, output_tokens: int) -> Cost:
    total = prices.cost(input_tokens, output_tokens)
    return Cost(
        total=total,
        output_cost_share=prices.cost(0, output_tokens) / total if total else 0.0,
        output_token_share=output_tokens / (input_tokens + output_tokens),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """A text of so many words, said by the model: tokens, US$, seconds, bytes of KV cache."""

    words: int
    tokens: int
    cost: float
    seconds: float
    kv_bytes: int


def spoken(
    words: int,
    fertility: float,
    prices: Prices,
    itl_s: float = 0.040,
    kv_bytes_per_token: int = reference.KV_BYTES_PER_TOKEN,
) -> Text:
    """What `words` come to as output, a token every `itl_s` seconds."""
    tokens = round(words * fertility)
    return Text(
        words=words,
        tokens=tokens,
        cost=prices.cost(0, tokens),
        seconds=tokens * itl_s,
        kv_bytes=tokens * kv_bytes_per_token,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """`tokens`: ceil(characters / 3.0) + 4 per message; `by_words`: words x fertility; both before tokenizing."""

    messages: int
    characters: int
    words: int
    tokens: int
    by_words: int


def estimate(messages: Sequence[Message], fertility: float) -> Estimate:
    texts = [text_of(message) for message in messages]
    characters, words = sum(map(len, texts)), sum(len(text.split()) for text in texts)
    return Estimate(
        messages=len(texts),
        characters=characters,
        words=words,
        tokens=math.ceil(characters / CHARACTERS_PER_TOKEN) + TOKENS_PER_MESSAGE * len(texts),
        by_words=round(words * fertility),
    )


def text_of(message: Message) -> str:
    """A message's content: a text, or the texts of its parts."""
    content = message.get("content")
    if isinstance(content, list):
        return "".join(part["text"] for part in content if isinstance(part, dict) and isinstance(part.get("text"), str))
    return content if isinstance(content, str) else ""


def read_messages(path: Path) -> list[Message]:
    """The messages in a file: a JSON list of them, or a request with `messages`. Raises InputError."""
    value = read_json(path)
    messages = value.get("messages") if isinstance(value, dict) else value
    if not isinstance(messages, list) or not messages:
        raise InputError(f"{path}: must hold a list of messages, or a request with one")
    for message in messages:
        if not isinstance(message, dict) or not isinstance(message.get("content"), str | list | None):
            raise InputError(f"{path}: {json.dumps(message, ensure_ascii=False)} is no message")
    return messages


def language_code(name: str) -> str:
    """The key of `FERTILITY` for a language. Raises InputError for one that was not measured."""
    code = _LANGUAGES.get(name.lower(), name.lower())
    if code not in FERTILITY:
        known = ", ".join(FERTILITY)
        raise InputError(f"--language {name}: only {known} were measured (--fertility N gives the tokens per word)")
    return code
