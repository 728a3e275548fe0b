"""Ask what was asked when it was recorded, and compare the answers."""

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from mockvllm.conformance.compare import Comparison, Difference
from mockvllm.conformance.exchange import ExchangeError, send
from mockvllm.conformance.recordings import Case, Request
from mockvllm.conformance.servers import CannotRunError, started

Servers = Callable[[Case], AbstractContextManager[str]]
"""The URL of the server that answers a case and those of its configuration."""


@dataclass(frozen=True, slots=True)
class Result:
    """`difference` is None where the answers are equal."""

    case: Case
    difference: Difference | None


@dataclass(frozen=True, slots=True)
class Live:
    """A server whose answers are expected instead of the recorded ones, and the version it says it is."""

    url: str
    version: str


def at(url: str) -> Servers:
    return lambda case: nullcontext(url)


def ours(model: Path) -> Servers:
    return lambda case: started(case, model)


def replay(
    cases: Iterable[Case], servers: Servers, *, live: Live | None = None, by_shape: bool = False
) -> Iterator[Result]:
    """Every case, one after the other, configuration by configuration. Raises CannotRunError without a server."""
    in_order = sorted(cases, key=_configuration)
    for _, same in groupby(in_order, key=_configuration):
        members = list(same)
        with servers(members[0]) as url:
            version = version_of(url)
            for case in members:
                yield Result(case, _difference(case, url, version, live, by_shape))


def version_of(url: str) -> str:
    """The vLLM version that the server says it is. Raises CannotRunError if there is none."""
    try:
        answer = send(url, Request("GET", "/version", (), None))
        return str(json.loads(answer.body_text)["version"])
    except (ExchangeError, ValueError, KeyError, TypeError) as error:
        raise CannotRunError(f"{url} does not say which vLLM it is (GET /version): {error}") from None


def _configuration(case: Case) -> tuple[str, tuple[str, ...], tuple[tuple[str, str], ...]]:
    return case.version, case.flags, case.env


def comparison(case: Case, expected_version: str, got_version: str, *, by_shape: bool = False) -> Comparison:
    """How the answers to a case are compared."""
    return Comparison(expected_version, got_version, by_shape or case.refused_by_grammar, case.sets_interval)


def _difference(case: Case, url: str, version: str, live: Live | None, by_shape: bool) -> Difference | None:
    judge = comparison(case, live.version if live else case.version, version, by_shape=by_shape)
    try:
        expected = send(live.url, case.request) if live else case.answer
        return judge.difference(expected, send(url, case.request))
    except ExchangeError as error:
        return Difference("exchange", "a whole answer", str(error))
