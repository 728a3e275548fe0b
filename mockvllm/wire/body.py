"""From the bytes of a POST to a JSON object, failing as FastAPI and vLLM do."""

import json
from typing import Any

import msgspec

from mockvllm.wire.errors import APIError, invalid
from mockvllm.wire.validation import Failure, bad_request

_JSON = b"application/json"
_decode = msgspec.json.Decoder().decode


def parse_body(raw: bytes, content_type: bytes | None, num_forms: int = 1) -> dict[str, Any]:
    """The request's JSON object. `num_forms`: of how many forms it may be, each of which complains.

    Raises APIError: no JSON, wrong content type, no object.
    """
    body = _parse_json(raw) if content_type == _JSON or _is_json_to_fastapi(content_type) else None
    check_content_type(content_type)
    if type(body) is not dict:
        raise bad_request([_not_an_object(body)] * (1 if body is None else num_forms))
    return body


def check_content_type(content_type: bytes | None) -> None:
    """Nothing but JSON, whose type may have parameters behind a semicolon that follows at once (vLLM)."""
    if content_type != _JSON and (content_type or b"").lower().split(b";")[0] != _JSON:
        message = "1 validation error:\n  Unsupported Media Type: Only 'application/json' is allowed"
        raise APIError(400, message, "Bad Request")


def parse_anything(raw: bytes, content_type: bytes | None, complaint: str) -> Any:
    """The JSON value of a route that reads its body by itself. `complaint`: what it says of a text that is no JSON,
    with `{error}` for what Python says. Raises APIError."""
    check_content_type(content_type)
    try:
        return json.loads(raw)
    except json.JSONDecodeError as error:
        raise APIError(400, complaint.format(error=error), "Bad Request") from None
    except (ValueError, RecursionError) as error:  # not UTF-8, or nested too deeply
        raise invalid(str(error)) from None


def _is_json_to_fastapi(content_type: bytes | None) -> bool:
    """Whether the body is parsed before anybody asks vLLM, and so refused first if it cannot be."""
    kind, _, subtype = (content_type or b"").split(b";")[0].strip().lower().partition(b"/")
    return kind == b"application" and (subtype == b"json" or subtype.endswith(b"+json"))


def _parse_json(raw: bytes) -> Any:
    try:
        return _decode(raw)
    except (msgspec.MsgspecError, RecursionError):
        # the standard library takes more (NaN, a BOM, lone surrogates), and its words are those of FastAPI's errors
        return _parse_json_leniently(raw)


def _parse_json_leniently(raw: bytes) -> Any:
    if not raw:
        return None
    try:
        return json.loads(raw)
    except json.JSONDecodeError as error:
        failure = Failure("json_invalid", (error.pos,), "JSON decode error", {}, {"error": error.msg})
        raise bad_request([failure]) from None
    except (ValueError, RecursionError):  # not UTF-8, or nested too deeply
        raise APIError(400, "There was an error parsing the body", "Bad Request") from None


def _not_an_object(body: object) -> Failure:
    if body is None:
        return Failure("missing", (), "Field required", None)
    message = "Input should be a valid dictionary or object to extract fields from"
    return Failure("model_attributes_type", (), message, body)
