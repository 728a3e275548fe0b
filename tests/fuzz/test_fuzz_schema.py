"""Requests that schemathesis makes of our OpenAPI document, as it allows and as it forbids: each is answered."""

import asyncio
import json
from functools import cache
from typing import Any

import pytest
import schemathesis
from application import POOLING, Application, Asked, few_choices
from conftest import Ask
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis import Case, GenerationMode
from schemathesis.core import NotSet
from schemathesis.schemas import APIOperation

from mockvllm.server.openapi import REQUESTS


async def document(*flags: str) -> dict[str, Any]:
    answer = await Application(*flags).send(Asked("GET", "/openapi.json"))
    found: dict[str, Any] = answer.json()
    return found


@cache
def operations() -> dict[str, APIOperation[Any, Any, Any, Any]]:
    """Of both kinds of server, by method and path."""
    found = {}
    for flags in ((), POOLING):
        for result in schemathesis.openapi.from_dict(asyncio.run(document(*flags))).get_all_operations():
            operation = result.ok()
            found[f"{operation.method.upper()} {operation.path}"] = operation
    return found


def sent(case: Case) -> Asked:
    """Also what is no JSON at all."""
    headers = {"content-type": "application/json", **(case.headers or {})}
    raw = case.body if isinstance(case.body, bytes) else None
    body = raw if raw is not None or isinstance(case.body, NotSet) else json.dumps(few_choices(case.body)).encode()
    return Asked(case.method.upper(), case.formatted_path, body, tuple(headers.items()))


def varied() -> list[tuple[str, GenerationMode]]:
    """Without a body or a query there is nothing to be wrong: any text will do in a path."""
    return [
        (name, mode)
        for name, operation in operations().items()
        for mode in (GenerationMode if [*operation.query, *operation.body] else [GenerationMode.POSITIVE])
    ]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "mode"), varied(), ids=lambda part: getattr(part, "value", part))
@settings(max_examples=settings.default.max_examples // 25, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_every_request_is_answered(ask: Ask, name: str, mode: GenerationMode, data: st.DataObject) -> None:
    case = data.draw(operations()[name].as_strategy(generation_mode=mode))
    ask(sent(case))


def test_requests_with_a_body_are_among_them() -> None:
    assert {f"POST {path}" for path in REQUESTS} <= {name for name, mode in varied() if mode is GenerationMode.NEGATIVE}
