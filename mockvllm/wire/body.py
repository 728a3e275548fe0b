"""From the bytes of a POST to a JSON object, failing as FastAPI and vLLM do."""

import json
from typing import Any

import msgspec

from mockvllm.wire.errors import APIError, invalid
from mockvllm.wire.validation import Failure, bad_request

_decode = msgspec.json.Decoder().decode


def parse_body(raw: bytes, content_type: bytes | None, num_forms: int = 1) -> dict[str, Any]:
    """The request's JSON object. `num_forms`: of how many forms it may be, each of which complains.

    Raises APIError: wrong content type, no JSON, no object.
    """
    check_content_type(content_type)
    body = _parse_json(raw)
    if type(body) is not dict:
        raise bad_request([_not_an_object(body)] * (1 if body is None else num_forms))
    return body


def check_content_type(content_type: bytes | None) -> None:
    if content_type != b"application/json" and not _is_json(content_type):
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


def _is_json(content_type: bytes | None) -> bool:
    return content_type is not None and content_type.split(b";")[0].strip().lower() == b"application/json"


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
