"""What the server's own parts say of a request: its window by release, its tokens by a real tokenizer."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mockvllm.planning.budget import Message, text_of
from mockvllm.planning.errors import InputError
from mockvllm.profiles import load
from mockvllm.wire.context import Asked, Window
from mockvllm.wire.errors import APIError, invalid


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowVerdict:
    """`max_new_tokens`: at most so many will come; None, with the server's `message`, when it refuses."""

    accepted: bool
    max_new_tokens: int | None
    message: str | None


def check_window(prompt: int, max_tokens: int | None, max_model_len: int, profile: str) -> WindowVerdict:
    """What a server of that release answers to so many prompt tokens (counted to the last) and requested ones."""
    window = Window(max_model_len, reserves_output=load(profile).wire.reserves_output)
    ask = Asked("max_tokens", max_tokens, None)
    try:
        window.check_request(ask)
        window.check_tokens(ask, prompt)
        tokens = window.max_tokens(ask, prompt)
        if tokens < 1:
            raise invalid(f"max_tokens must be at least 1, got {tokens}.", "max_tokens", tokens)
    except APIError as error:
        return WindowVerdict(accepted=False, max_new_tokens=None, message=error.message)
    return WindowVerdict(accepted=True, max_new_tokens=tokens, message=None)


def count_tokens(messages: Sequence[Message], directory: Path) -> int:
    """The prompt's tokens by a model's own tokenizer, in its chat template if it has one. Raises InputError."""
    from mockvllm.answers.chat_template import ChatTemplate
    from mockvllm.answers.hf_tokenizer import HFTokenizer
    from mockvllm.answers.prompt import Rendering

    try:
        tokenizer = HFTokenizer(directory)
        if tokenizer.chat_template is None:
            return sum(len(tokenizer.encode(text_of(message))) for message in messages)
        template = ChatTemplate(tokenizer.chat_template, tokenizer.special_tokens)
        return len(tokenizer.encode(template.render(messages, Rendering())))
    except ImportError:
        raise InputError("--tokenizer: needs pip install 'mockvllm[tokenizer]'") from None
    except (OSError, ValueError) as error:
        raise InputError(f"--tokenizer {directory}: {error}") from None
