"""/invocations, SageMaker's name for whichever endpoint takes a body (vLLM 0.30-0.33)."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from mockvllm.engine import Request
from mockvllm.server.asgi import lookup
from mockvllm.server.draft import Headers
from mockvllm.server.serving import Serving
from mockvllm.wire.body import parse_anything
from mockvllm.wire.errors import SchemaError, invalid
from mockvllm.wire.prepared import Prepared


class Invocations:
    """`endpoints`, by the names of their requests, are tried in order: the first whose schema a body fits serves it."""

    def __init__(self, endpoints: Mapping[str, Serving[Any]]) -> None:
        self._endpoints = endpoints

    def prepare(self, body: bytes, headers: Headers, now: float) -> Prepared[Request]:
        """As `Serving.prepare`. A refusal that is none of the schema's is an answer."""
        found = lookup(headers)
        fields = parse_anything(body, found.get(b"content-type"), "JSON decode error: {error}")
        for endpoint in self._endpoints.values() if isinstance(fields, dict) else ():
            with suppress(SchemaError):
                return endpoint.serve(endpoint.parse(fields), fields, found, now)
        raise invalid(f"Cannot find suitable handler for request. Expected one of: {list(self._endpoints)}")
