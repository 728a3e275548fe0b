"""Directives: what a prompt, a header or a body field tells the mock to say. They survive every gateway as text."""

import json
import re
from dataclasses import dataclass
from typing import Any

_SAY = re.compile(r"\[\[say\]\](.*?)\[\[/say\]\]", re.DOTALL)
_MOCK = "[[mock "
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


def from_script(script: object, source: str) -> Directive:
    """The directive of `{"say": text, "finish": "stop" | "end"}`: with an end token, as a model ends, or without."""
    if not isinstance(script, dict):
        raise ValueError(f"mock script must be a JSON object, got {script!r}")
    say, finish = script.get("say"), script.get("finish", "stop")
    if say is not None and not isinstance(say, str):
        raise ValueError(f"mock script: say must be a string, got {say!r}")
    if finish not in ("stop", "end"):
        raise ValueError(f'mock script: finish must be "stop" or "end", got {finish!r}')
    return Directive(source, None if say is None else _with_think_tags(say), finish == "stop")


def _mock_json(text: str) -> Any:
    start = text.rindex(_MOCK) + len(_MOCK)
    try:
        script, end = json.JSONDecoder().raw_decode(text, start)
    except ValueError as error:
        raise ValueError(f"[[mock ...]] holds no JSON: {error}") from error
    if not text[end:].lstrip().startswith("]]"):
        raise ValueError("[[mock ...]] does not end with ]]")
    return script


def _with_think_tags(text: str) -> str:
    for shown, tag in _THINK.items():
        text = text.replace(shown, tag)
    return text
