"""JSON as vLLM writes it: compact, raw UTF-8."""

from typing import Any

import msgspec

_encode = msgspec.json.Encoder().encode


def compact(value: Any) -> bytes:
    """`value` as compact JSON. A lone surrogate, which has no UTF-8, becomes U+FFFD."""
    try:
        return _encode(value)
    except UnicodeEncodeError:
        return _encode(_without_surrogates(value))


def escape(text: str) -> bytes:
    """`text` as the inside of a JSON string."""
    return compact(text)[1:-1]


def _without_surrogates(value: Any) -> Any:
    if isinstance(value, str):
        return "".join("\ufffd" if "\ud800" <= char <= "\udfff" else char for char in value)
    if isinstance(value, dict):
        return {_without_surrogates(key): _without_surrogates(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_surrogates(item) for item in value]
    return value
