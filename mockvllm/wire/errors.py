"""Errors as vLLM's OpenAI routes answer them: `{"error": {message, type, param, code}}`."""

import json
import re
from typing import Any

from mockvllm.wire.jsontext import compact


class APIError(Exception):
    """An answer that is an error. `status`: HTTP's, and the body's `code`. `type`: vLLM's name for the kind of error.

    vLLM's validation errors name a parameter, and often its value, at the end of the message: see `invalid`.
    """

    def __init__(self, status: int, message: str, type: str = "BadRequestError", param: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.type = type
        self.param = param

    @property
    def content(self) -> dict[str, Any]:
        error = {"message": sanitize(self.message), "type": self.type, "param": self.param, "code": self.status}
        return {"error": error}

    def body(self) -> bytes:
        return compact(self.content)

    def event(self, *, spaced: bool = False) -> bytes:
        """The error inside a stream, and the stream's end. `spaced`: as Python's `json.dumps` writes it."""
        data = json.dumps(self.content).encode() if spaced else self.body()
        return b"data: " + data + b"\n\ndata: [DONE]\n\n"


class SchemaError(APIError):
    """A body, query or path of the wrong shape, before anything looks at what it means."""

    def __init__(self, message: str, param: str | None) -> None:
        super().__init__(400, message, "Bad Request", param)


class UnexpectedError(APIError):
    """An exception that vLLM does not foresee: its last resort answers, outside of the layers (so without CORS)."""


_MISSING = object()


def invalid(message: str, parameter: str | None = None, value: object = _MISSING) -> APIError:
    """A request that vLLM's own checks refuse (`VLLMValidationError`, `ValueError`): 400 `BadRequestError`."""
    if parameter is None:
        return APIError(400, message)
    shown = f"parameter={parameter}" if value is _MISSING else f"parameter={parameter}, value={value}"
    return APIError(400, f"{message} ({shown})", param=parameter)


def internal_error() -> APIError:
    """A request that the engine gave up (vLLM's `GenerationError`)."""
    return APIError(500, "Internal server error", "InternalServerError")


def unknown_model(model: str, aliases: list[str], *, list_aliases: bool) -> APIError:
    valid = f" Valid aliases: {', '.join(aliases)}." if list_aliases else ""
    return APIError(404, f"The model `{model}` does not exist.{valid}", "NotFoundError", "model")


_ADDRESS = re.compile(r" at 0x[0-9a-f]+>")
_FRAME = re.compile(r'File "[^"]*", line \d+, in \S+\n?')
_PATH = re.compile(
    r"(?<![\w/:.])/(?:(?:home|usr|opt|var|tmp|root|lib|mnt|srv)(?:/[\w.\-]+)+|(?:[\w\-]+/)+[\w\-]+\.\w+)"
)


def sanitize(message: str) -> str:
    """vLLM tells clients no addresses, stack frames or paths of the machine."""
    if "/" not in message and " at 0x" not in message and 'File "' not in message:
        return message.strip()
    message = _ADDRESS.sub(">", message)
    return _PATH.sub("<path>", _FRAME.sub("", message)).strip()
