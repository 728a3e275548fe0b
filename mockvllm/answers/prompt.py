"""From messages to a prompt: by the model's chat template, or without one by their contents alone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

Messages = Sequence[Mapping[str, Any]]

NOT_COMPATIBLE = (
    "continue_final_message and add_generation_prompt are not compatible. "
    "Use continue_final_message when you want the model to continue the final message, "
    "and add_generation_prompt when you want to add a header that will prompt it to start "
    "a new assistant message instead."
)
NO_TEMPLATE = (
    "As of transformers v4.44, default chat template is no longer allowed, "
    "so you must provide a chat template if the tokenizer does not define one."
)


@dataclass(frozen=True, slots=True)
class Rendering:
    """How a request wants its messages rendered. `variables`: names for the template (`chat_template_kwargs`)."""

    add_generation_prompt: bool = True
    continue_final_message: bool = False
    tools: Sequence[Any] | None = None
    documents: Sequence[Any] | None = None
    variables: Mapping[str, Any] | None = None

    def check(self) -> None:
        if self.continue_final_message and self.add_generation_prompt:
            raise ValueError(NOT_COMPATIBLE)


class Renderer(Protocol):
    """`takes_parts`: it wants the parts of a content (vLLM's content format `openai`), else their text."""

    @property
    def takes_parts(self) -> bool: ...
    def render(self, messages: Messages, how: Rendering) -> str:
        """The prompt. ValueError: the messages, or how they are to be rendered, are refused."""
        ...


class PlainRenderer:
    """The contents, one a line: as many words as the messages have. For a tokenizer of words."""

    takes_parts = False

    def render(self, messages: Messages, how: Rendering) -> str:
        how.check()
        return "\n".join([message["content"] for message in messages])


class NoRenderer:
    """A tokenizer without a chat template."""

    takes_parts = False

    def render(self, messages: Messages, how: Rendering) -> str:
        raise ValueError(NO_TEMPLATE)


def content_text(content: str | Sequence[Mapping[str, Any]]) -> str:
    """The text of a message's content: a string, or the texts of its parts, one a line."""
    return content if isinstance(content, str) else "\n".join(part["text"] for part in content)


def last_user_text(messages: Messages) -> str:
    """What the user said last; "" if nothing."""
    for message in reversed(messages):
        if message["role"] == "user":
            return content_text(message["content"])
    return ""
