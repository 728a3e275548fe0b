"""Servers in this process that follow one release, but for single rules."""

import asyncio
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import httpx

from mockvllm import profiles
from mockvllm.clock import ManualClock
from mockvllm.conformance import servers
from mockvllm.conformance.recordings import Answer, Case, Request
from mockvllm.profiles import Profile
from mockvllm.server.app import build_app
from mockvllm.server.build import build_backend
from mockvllm.settings import load
from mockvllm.testing.transport import InProcessTransport

RECORDINGS = Path(__file__).parent.parent / "data" / "wire"
BY_HAND = ("--clock", "manual", "--disable-uvicorn-access-log")
TURNS = 20
LONGEST_URL = 60_000
"""httpx sends none that is longer; the application never sees one either."""


def mixed(base: Profile, other: Profile, rules: Collection[tuple[str, str]]) -> Profile:
    """`base` with these rules (section, field) as `other` has them."""
    sections: dict[str, Any] = {}
    for section in {section for section, _ in rules}:
        theirs = getattr(other, section)
        values = {name: getattr(theirs, name) for of, name in rules if of == section}
        sections[section] = replace(getattr(base, section), **values)
    return replace(base, **sections)


@contextmanager
def serving(profile: Profile) -> Iterator[None]:
    """Every server that is built meanwhile follows `profile`, whatever its --profile."""
    with patch.object(profiles, "load", lambda name: profile):
        yield


class Application:
    """The application of one configuration, on a clock that goes on when nobody has anything to do."""

    def __init__(self, case: Case, model: Path, more: Collection[str] = ()) -> None:
        settings, environment = load([*servers.flags(case, model), *BY_HAND, *more], case.environ)
        backend = build_backend(settings, environment, asyncio.get_running_loop())
        assert isinstance(backend.clock, ManualClock)
        self._clock = backend.clock
        self._client = httpx.AsyncClient(transport=InProcessTransport(build_app(backend).asgi), base_url="http://mock")
        self._client.headers.clear()

    async def send(self, request: Request) -> Answer:
        body = (request.body_text or "").encode()
        sending = asyncio.ensure_future(
            self._client.request(request.method, request.path, headers=request.headers, content=body)
        )
        while not sending.done():
            for _ in range(TURNS):
                await asyncio.sleep(0)
            self._clock.advance(0.02)
        answer = sending.result()
        return Answer(answer.status_code, tuple(answer.headers.multi_items()), answer.text)


def ask(profile: Profile, cases: Collection[Case], model: Path, more: Collection[str] = ()) -> Mapping[str, Answer]:
    """The answers of a server of `profile` and the cases' configuration (one for all), by group/case."""
    return asyncio.run(_ask(profile, cases, model, more))


async def _ask(profile: Profile, cases: Collection[Case], model: Path, more: Collection[str]) -> dict[str, Answer]:
    if not cases:
        return {}
    with serving(profile):
        application = Application(next(iter(cases)), model, more)
        return {
            f"{case.group}/{case.name}": await application.send(case.request)
            for case in cases
            if len(case.request.path) < LONGEST_URL
        }


def all_rules() -> list[tuple[str, str]]:
    return [
        (section.name, field.name)
        for section in fields(Profile)
        if section.name not in ("name", "version")
        for field in fields(getattr(profiles.load("0.33"), section.name))
    ]
