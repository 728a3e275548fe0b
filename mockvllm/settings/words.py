"""The words of a command line, made plain: one spelling of each flag, dotted values folded into JSON."""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from mockvllm.settings.errors import SettingsError
from mockvllm.settings.values import dotted_value

DOTTED = re.compile(r"(--[\w-]+|-[A-Za-z]+)\.([^=]+?)(\+?)(?:=(.*))?", re.DOTALL)


def plain(words: Sequence[str]) -> list[str]:
    """Flags with dashes for underscores; keys behind a dot and values stay as they are."""
    return [_dashed(word) if word.startswith("--") else word for word in words]


def _dashed(word: str) -> str:
    end = re.search(r"[.=]", word)
    name, rest = (word[: end.start()], word[end.start() :]) if end else (word, "")
    return name.replace("_", "-") + rest


def fold(words: Sequence[str]) -> list[str]:
    """`--x.a.b 1 --x.c+ v` as `--x {"a": {"b": 1}, "c": ["v"]}`, behind all other words, as vLLM does.

    Raises SettingsError for a dotted flag without a value.
    """
    rest: list[str] = []
    objects: dict[str, dict[str, Any]] = {}
    following = iter(words)
    for word in following:
        match = DOTTED.fullmatch(word)
        if match is None:
            rest.append(word)
            continue
        flag, path, plus, text = match.groups()
        text = _next(following, word) if text is None else text
        merge(objects.setdefault(flag, {}), path.split("."), text.split(",") if plus else dotted_value(text))
    return [*rest, *(part for flag, value in objects.items() for part in (flag, json.dumps(value)))]


def _next(words: Iterator[str], flag: str) -> str:
    value = next(words, None)
    if value is None:
        raise SettingsError(f"argument {flag}: expected one argument")
    return value


def merge(into: dict[str, Any], path: Sequence[str], value: Any) -> None:
    """Set the value at a path; lists grow, everything else is replaced."""
    *parents, last = path
    for key in parents:
        child = into.get(key)
        if not isinstance(child, dict):
            child = into[key] = {}
        into = child
    old = into.get(last)
    into[last] = [*old, *value] if isinstance(old, list) and isinstance(value, list) else value
