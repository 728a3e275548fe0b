"""Readers of single values: what stands behind `--flag` becomes what the field holds."""

import json
import re
from argparse import ArgumentTypeError
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

LogLevel = Literal["CRITICAL", "ERROR", "WARNING", "INFO", "DEBUG", "NOTSET"]
DECIMAL = {"k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
BINARY = {"K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


def human_int(text: str) -> int:
    """`1k` is 1000, `1K` 1024, `25.6k` 25600; suffixes kmgt are decimal, KMGT binary and take whole numbers only."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([kmgtKMGT])", text.strip())
    if match is None:
        return whole(text)
    number, suffix = match.groups()
    if suffix in DECIMAL:
        return int(float(number) * DECIMAL[suffix])
    if "." in number:
        raise ArgumentTypeError(
            f"decimals are not allowed with binary suffixes like {suffix}: did you mean {number}{suffix.lower()}?"
        )
    return int(number) * BINARY[suffix]


def human_int_or_auto(text: str) -> int:
    """As `human_int`; `auto` is -1."""
    return -1 if text.strip().lower() == "auto" else human_int(text)


def whole(text: str) -> int:
    """A plain whole number."""
    try:
        return int(text)
    except ValueError:
        raise ArgumentTypeError(f"invalid int value: {text!r}") from None


def json_object(text: str) -> Mapping[str, Any]:
    """A JSON object."""
    value = _json(text)
    if not isinstance(value, dict):
        raise ArgumentTypeError(f"must be a JSON object, not {text!r}")
    return value


def json_strings(text: str) -> tuple[str, ...]:
    """A JSON list of strings, such as `["*"]`."""
    value = _json(text)
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ArgumentTypeError(f"must be a JSON list of strings, not {text!r}")
    return tuple(value)


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        raise ArgumentTypeError(f"invalid JSON value: {text!r}") from None


def dotted_value(text: str) -> Any:
    """What stands behind a dotted flag: JSON, a number with a suffix, or text."""
    try:
        return json.loads(text)
    except ValueError:
        pass
    try:
        return human_int(text)
    except ArgumentTypeError:
        return text


def literal(text: str) -> Any:
    """A value nobody reads, as Python would show it: JSON where it is JSON, text otherwise."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def optional(parse: Callable[[str], Any]) -> Callable[[str], Any]:
    """As `parse`; an empty value and the word `None` unset the option, as in vLLM."""

    def read(text: str) -> Any:
        return None if text in ("", "None") else parse(text)

    read.__name__ = getattr(parse, "__name__", "value")
    return read


@dataclass(frozen=True, slots=True)
class LoRAModulePath:
    """One adapter of `--lora-modules`: `name=path`, or JSON with these keys."""

    name: str
    path: str
    base_model_name: str | None = None


def lora_module(text: str) -> LoRAModulePath:
    """An adapter in either form; raises ArgumentTypeError that quotes the text."""
    if "=" in text and "," not in text:
        name, _, path = text.partition("=")
        return LoRAModulePath(name, path)
    try:
        return LoRAModulePath(**json_object(text))
    except TypeError:
        raise ArgumentTypeError(f"needs name and path (and may have base_model_name): {text!r}") from None
