"""Chat templates, rendered as transformers renders them."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from mockvllm.answers.prompt import Messages, Rendering, content_text

if TYPE_CHECKING:
    from jinja2 import Environment

NOT_FOUND = (
    "continue_final_message is set but the final message does not appear in the chat after applying the chat template! "
    "This can happen if the chat template deletes portions of the final message. "
    "Please verify the chat template and final message in your chat to ensure they are compatible."
)


class ChatTemplate:
    """A template and the special tokens it may name (`bos_token`, ...). ValueError: it is no Jinja."""

    def __init__(self, source: str, special_tokens: Mapping[str, str]) -> None:
        from jinja2 import TemplateSyntaxError  # an optional package, and slow to import

        environment = _environment()
        try:
            self._template = environment.from_string(source)
        except TemplateSyntaxError as error:
            raise ValueError(str(error)) from None
        self.takes_parts = _walks_content(environment, source)
        self._knows_developer = "developer" in source
        self._special_tokens = special_tokens

    def render(self, messages: Messages, how: Rendering) -> str:
        """The prompt. ValueError: the template refuses the messages."""
        from jinja2 import TemplateError

        how.check()
        if not self._knows_developer:
            messages = [_as_system(message) for message in messages]
        given = {"messages": messages, "tools": how.tools, "documents": how.documents}
        names = {**self._special_tokens, **(how.variables or {}), **given}
        try:
            prompt = self._template.render(names, add_generation_prompt=how.add_generation_prompt)
        except (TemplateError, TypeError, OverflowError) as error:  # vLLM takes all of these for the client's
            raise ValueError(str(error)) from None
        return _cut_behind(prompt, messages[-1]["content"]) if how.continue_final_message else prompt


def _environment() -> "Environment":
    from jinja2.ext import loopcontrols
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols])
    environment.filters["tojson"] = _tojson
    environment.globals["raise_exception"] = _raise_exception
    environment.globals["strftime_now"] = _strftime_now
    return environment


def _tojson(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    """JSON for a prompt, not for HTML: nothing is escaped that need not be."""
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def _raise_exception(message: str) -> str:
    from jinja2 import TemplateError

    raise TemplateError(message)


def _strftime_now(format: str) -> str:
    return datetime.now().strftime(format)


def _as_system(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """vLLM gives a template that has never heard of developers the system's role instead."""
    return {**message, "role": "system"} if message["role"] == "developer" else message


def _cut_behind(prompt: str, content: str | Sequence[Mapping[str, Any]]) -> str:
    """The prompt up to the end of its last message, whose spaces the template may have trimmed."""
    text = content if isinstance(content, str) else content_text(content[-1:])
    at = prompt.rfind(text.strip())
    if at < 0:
        raise ValueError(NOT_FOUND)
    whole = text.lstrip()
    return prompt[: at + len(whole)] if prompt.startswith(whole, at) else prompt[: at + len(text.strip())]


def _walks_content(environment: "Environment", source: str) -> bool:
    """Whether a loop of the template runs over a message's content."""
    from jinja2 import nodes

    for loop in environment.parse(source).find_all(nodes.For):
        match loop.iter:
            case nodes.Getattr(attr="content") | nodes.Getitem(arg=nodes.Const(value="content")):
                return True
            case nodes.Name(name="content"):
                return True
    return False
