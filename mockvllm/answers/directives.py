"""Directives: what a prompt, a header or a body field tells the mock to say. They survive every gateway as text."""

import json
import re
from dataclasses import dataclass
from reprlib import repr as shown
from typing import Any

_SAY = re.compile(r"\[\[say\]\](.*?)\[\[/say\]\]", re.DOTALL)
_MOCK = "[[mock "
_KEYS = ("say", "finish")
_NAMES = {"mock": "[[mock ...]]", "header": "X-Mock-Script", "body": "mock"}
"""What a script's client calls the place where it stands, by its source."""
_THINK = {"‹think›": "<think>", "‹/think›": "</think>"}  # a gateway may strip or refuse the real tags in a prompt


@dataclass(frozen=True, slots=True)
class Directive:
    """`say`: the text (None: the sentence). `end_token`: an end-of-turn token follows; without, it ends by itself."""

    source: str
    say: str | None = None
    end_token: bool = True


def in_prompt(text: str) -> Directive | None:
    """A prompt's directive: a script, else the last `[[say]]`, else `[[eos]]`. ValueError: the script is malformed."""
    if "[[" not in text:
        return None
    if _MOCK in text:
        return from_script(_mock_json(text), "mock")
    said = _SAY.findall(text)
    if said:
        return Directive("say", _with_think_tags(said[-1]))
    return Directive("eos") if "[[eos]]" in text else None


def in_header(value: bytes) -> Directive:
    """The directive of the header `X-Mock-Script`. ValueError: it is malformed."""
    try:
        script = json.loads(value)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{_NAMES['header']} holds no JSON: {error}") from error
    return from_script(script, "header")


def from_script(script: object, source: str) -> Directive:
    """The directive of `{"say": text, "finish": "stop" | "end"}`: with an end token, as a model ends, or without.

    `source`: `mock` (a prompt), `header` or `body`. ValueError names it, and what is wrong with the script.
    """
    name = _NAMES[source]
    if not isinstance(script, dict):
        raise ValueError(f"{name} must be a JSON object, got {shown(script)}")
    for key in script:
        if key not in _KEYS:
            raise ValueError(f"{name}: unknown key {shown(key)}, choose from {', '.join(_KEYS)}")
    say, finish = script.get("say"), script.get("finish", "stop")
    if say is not None and not isinstance(say, str):
        raise ValueError(f"{name}: say must be a string, got {shown(say)}")
    if finish not in ("stop", "end"):
        raise ValueError(f'{name}: finish must be "stop" or "end", got {shown(finish)}')
    return Directive(source, None if say is None else _with_think_tags(say), finish == "stop")


def _mock_json(text: str) -> Any:
    name, start = _NAMES["mock"], text.rindex(_MOCK) + len(_MOCK)
    try:
        script, end = json.JSONDecoder().raw_decode(text, start)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{name} holds no JSON: {error}") from error
    if not text[end:].lstrip().startswith("]]"):
        raise ValueError(f"{name} does not end with ]]")
    return script


def _with_think_tags(text: str) -> str:
    for written, tag in _THINK.items():
        text = text.replace(written, tag)
    return text
