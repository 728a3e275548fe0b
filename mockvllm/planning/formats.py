"""Names of number formats, and the bytes of an element in the KV cache."""

from collections.abc import Mapping

from mockvllm.planning.errors import InputError

KV_BYTES: Mapping[str, int] = {"fp32": 4, "bf16": 2, "fp16": 2, "fp8": 1}

_ALIASES = {
    "float32": "fp32",
    "float": "fp32",
    "bfloat16": "bf16",
    "float16": "fp16",
    "half": "fp16",
    "fp8_e4m3": "fp8",
    "fp8_e5m2": "fp8",
}


def format_name(name: str, flag: str, known: Mapping[str, object]) -> str:
    """The short name of a format (`bfloat16` is `bf16`). Raises InputError for one that is not in `known`."""
    short = _ALIASES.get(name.lower(), name.lower())
    if short not in known:
        raise InputError(f"{flag} {name}: is none of {', '.join(known)}")
    return short
