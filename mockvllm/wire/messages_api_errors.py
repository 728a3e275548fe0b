"""Errors as vLLM's Anthropic routes answer them: `{"type": "error", "error": {type, message}}`."""

from typing import Any

from mockvllm.wire.errors import APIError, sanitize
from mockvllm.wire.jsontext import compact

_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    503: "overloaded_error",
}


class AnthropicError(APIError):
    """`error` in the shape of the Anthropic API. `own_types`: types are Anthropic's (vLLM 0.33), not vLLM's."""

    def __init__(self, error: APIError, *, own_types: bool) -> None:
        kind = _type_of(error.status) if own_types else error.type
        super().__init__(error.status, error.message, kind, error.param)

    @property
    def content(self) -> dict[str, Any]:
        return {"type": "error", "error": {"type": self.type, "message": sanitize(self.message)}}

    def event(self, *, spaced: bool = False) -> bytes:
        """The error inside a stream, which ends with it."""
        return b"event: error\ndata: " + compact(self.content) + b"\n\n"


def _type_of(status: int) -> str:
    return _TYPES.get(status) or ("api_error" if status >= 500 else "invalid_request_error")
