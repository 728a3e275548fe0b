"""Recorded exchanges: one JSON file each, or many as lines of a `.jsonl` or `.jsonl.xz` file."""

import json
import lzma
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any

COURSES = frozenset(
    ("dev", "lora", "crash", "overload", "shutdown", "disconnect", "metrics", "keepalive", "long", "logs")
)
"""Groups whose exchanges need a course of events on one server: asked one by one they show nothing."""

Headers = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Request:
    method: str
    path: str
    headers: Headers
    body_text: str | None


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: Headers
    body_text: str


@dataclass(frozen=True, slots=True)
class Case:
    """One exchange, as it was recorded from vLLM `version` with `flags` and variables `env`.

    `refused_by_grammar`: the text is not the script's, so only its shape is comparable.
    """

    version: str
    group: str
    name: str
    flags: tuple[str, ...]
    env: tuple[tuple[str, str], ...]
    request: Request
    answer: Answer
    refused_by_grammar: bool = False

    @property
    def environ(self) -> dict[str, str]:
        """The variables that are vLLM's; the others (`FAKE_...`) set up the recorder's stub."""
        return {name: value for name, value in self.env if not name.startswith("FAKE_")}

    @property
    def sets_interval(self) -> bool:
        """Whether it is about how many tokens an event carries."""
        return "--stream-interval" in self.flags or '"stream_interval"' in (self.request.body_text or "")


def read(directory: Path, versions: Collection[str] = ()) -> list[Case]:
    """Every case below `directory` that can be asked by itself, of these versions or of all.

    Raises ValueError for a file that begins like a case and is none.
    """
    found = (_case(data, source) for data, source in _documents(directory))
    return [case for case in found if case is not None and (not versions or case.version in versions)]


def common_flags(cases: Collection[Case]) -> int:
    """How many flags all of them begin with: those of every recorded server."""
    at_each_place = zip(*(case.flags for case in cases), strict=False)
    return sum(1 for _ in takewhile(lambda flags: len(set(flags)) == 1, at_each_place))


def _documents(directory: Path) -> Iterator[tuple[Any, Path]]:
    """Whatever may be a case, in the order of names: cases of one configuration were recorded in sequence."""
    for path in sorted(directory.rglob("*.json")):
        yield json.loads(path.read_text("utf-8")), path
    for path in sorted((*directory.rglob("*.jsonl"), *directory.rglob("*.jsonl.xz"))):
        text = lzma.decompress(path.read_bytes()) if path.suffix == ".xz" else path.read_bytes()
        version = path.name.partition(".jsonl")[0]  # a line does not repeat the version
        for line in text.decode("utf-8").splitlines():
            yield {"vllm_version": version} | json.loads(line), path


def _case(data: Any, source: Path) -> Case | None:
    if not isinstance(data, dict) or not {"case", "group", "request", "response"} <= data.keys():
        return None
    asked, answered = data["request"], data["response"]
    try:
        if data["group"] in COURSES or asked["path"].startswith("/metrics") or answered["status"] is None:
            return None
        return Case(
            data["vllm_version"],
            data["group"],
            data["case"],
            tuple(data["server_flags"] if "server_flags" in data else data["flags"]),
            tuple((data["server_env"] if "server_env" in data else data["env"]).items()),
            Request(asked["method"], asked["path"], _pairs(asked["headers"]), asked.get("body_text")),
            Answer(answered["status"], _pairs(answered["headers"]), answered["body_text"]),
            data.get("script_refused_by_grammar", False),
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{source}: no recorded exchange: {error!r}") from None


def _pairs(headers: Any) -> Headers:
    return tuple((name, value) for name, value in headers)
