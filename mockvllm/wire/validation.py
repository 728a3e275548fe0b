"""Validation errors as vLLM words them: 400 `Bad Request`, one line for each of at most ten failures."""

import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from pydantic import TypeAdapter, ValidationError

from mockvllm.wire.errors import APIError, SchemaError, invalid

MAX_SHOWN = 10
MAX_LINE = 1000
MAX_INPUT = 200
_CUT = "...[truncated]"
_INTERNAL = frozenset(
    (
        "str",
        "int",
        "float",
        "bool",
        "ResponseFormat",
        "StructuralTagResponseFormat",
        "LegacyStructuralTagResponseFormat",
    )
)
"""pydantic's names of a union's branches, which vLLM leaves out of a location, as it does any with a bracket."""


_PYDANTIC_URL = re.compile(r"errors\.pydantic\.dev/[\d.]+/")


class Failure(NamedTuple):
    """One failed check: pydantic's error type, where below the root, its text, what was there."""

    type: str
    loc: tuple[int | str, ...]
    msg: str
    input: object
    ctx: dict[str, Any] | None = None


_NOT_SHOWN = Failure("", (), "", None)

Shape = Callable[[Any], object]
"""What (hashable) decides how many failures a value has."""


def failures(error: ValidationError, *prefix: int | str) -> list[Failure]:
    """pydantic's failures, below `prefix`."""
    return [
        Failure(detail["type"], (*prefix, *detail["loc"]), detail["msg"], detail["input"], detail.get("ctx"))
        for detail in error.errors(include_url=False)
    ]


def element_failures(
    element: TypeAdapter[Any], values: Sequence[Any], shape: Shape, *prefix: int | str
) -> list[Failure]:
    """The failures of a list's elements. Those that are not shown have no text; equal shapes are counted once."""
    found: list[Failure] = []
    shown = 0
    while shown < len(values) and len(found) < MAX_SHOWN:
        error = _error(element, values[shown])
        found += failures(error, *prefix, shown) if error else ()
        shown += 1
    counts: dict[object, int] = {}
    num_others = 0
    for value in values[shown:]:
        kind = shape(value)
        if kind not in counts:
            error = _error(element, value)
            counts[kind] = error.error_count() if error else 0
        num_others += counts[kind]
    return found + [_NOT_SHOWN] * num_others


def _error(adapter: TypeAdapter[Any], value: object) -> ValidationError | None:
    try:
        adapter.validate_python(value, from_attributes=True)
    except ValidationError as error:
        return error
    return None


def pydantic_s_own(error: ValidationError) -> APIError:
    """The answer where vLLM does not word pydantic's error itself."""
    # the link names the pydantic that is installed; vLLM 0.30 to 0.33 were recorded with 2.14
    return invalid(_PYDANTIC_URL.sub("errors.pydantic.dev/2.14/", str(error)))


def bad_request(found: Sequence[Failure], root: str = "body") -> SchemaError:
    """The answer to a request with these failures; `root` is `body`, `query` or `path`."""
    lines = [_line(failure, root) for failure in found[:MAX_SHOWN]]
    header = f"{len(found)} validation error{'s' if len(found) > 1 else ''}:"
    if len(found) > MAX_SHOWN:
        lines.append(f"...and {len(found) - MAX_SHOWN} more errors")
    return SchemaError("\n  ".join((header, *lines)), _location(found[0], root))


def _line(failure: Failure, root: str) -> str:
    shown: dict[str, Any] = {"type": failure.type, "loc": _location(failure, root), "msg": failure.msg}
    shown["input"] = _input(failure.input)
    if failure.ctx:
        shown["ctx"] = failure.ctx
    line = repr(shown)
    return line if len(line) <= MAX_LINE else line[:MAX_LINE] + _CUT


def _location(failure: Failure, root: str) -> str:
    return ".".join((root, *(str(part) for part in failure.loc if part not in _INTERNAL and "[" not in str(part))))


def _input(value: object) -> str:
    if isinstance(value, dict | list | tuple | set):
        return f"<{type(value).__name__} of {len(value)} items>"
    if isinstance(value, bytes):
        return f"<bytes of {len(value)} bytes>"
    text = str(value)
    return text if len(text) <= MAX_INPUT else text[:MAX_INPUT] + _CUT
