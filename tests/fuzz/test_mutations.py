"""Recorded requests of every endpoint, changed at random: each is answered."""

import json
import lzma
from collections import defaultdict
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from application import Asked, few_choices
from conftest import Ask
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mockvllm.server.openapi import REQUESTS

DATA = Path(__file__).parents[1] / "data" / "wire" / "0.33.0.jsonl.xz"
PATHS = REQUESTS.keys() | {"/scale_elastic_ep"}
LONGEST = 2000  # characters
JSON = ("content-type", "application/json")
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


def recorded() -> dict[str, list[dict[str, Any]]]:
    """The bodies of POSTs that are JSON objects, by path."""
    bodies = defaultdict(list)
    with lzma.open(DATA, "rt", encoding="utf-8") as lines:
        for line in lines:
            request = json.loads(line)["request"]
            text = request.get("body_text") or ""
            if request["path"] in PATHS and request["method"] == "POST" and len(text) < LONGEST:
                with suppress(ValueError):
                    bodies[request["path"]].append(json.loads(text))
    return {path: [body for body in found if isinstance(body, dict)] for path, found in bodies.items()}


BODIES = recorded()
FIELDS = sorted({name for bodies in BODIES.values() for body in bodies for name in body})
ITEMS = [item for bodies in BODIES.values() for body in bodies for item in body.items()]


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The way to every value inside `value`, its own first."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, item in inner for place in places(item, (*path, key)))]


def replaced(value: Any, place: tuple[Any, ...], new: Any) -> Any:
    """`value` with `new` at that place."""
    if not place:
        return new
    copy = value.copy()
    copy[place[0]] = replaced(copy[place[0]], place[1:], new)
    return copy


def own_items(path: str) -> list[tuple[str, Any]]:
    return [item for body in BODIES[path] for item in body.items()]


@st.composite
def mutations(draw: st.DrawFn, path: str) -> Asked:
    """A recorded body with fields of others, with fields broken, with one value changed deep inside, or cut off."""
    body = draw(st.sampled_from(BODIES[path]))
    body = {**body, **dict(draw(st.lists(st.sampled_from(own_items(path)), max_size=2)))}
    kind = draw(st.sampled_from(("as it is", "foreign", "broken", "deep", "cut")))
    if kind == "foreign":
        body = {**body, **dict(draw(st.lists(st.sampled_from(ITEMS), max_size=3)))}
    elif kind == "broken":
        body = {**body, **draw(st.dictionaries(st.sampled_from(FIELDS), ANYTHING, max_size=2))}
    elif kind == "deep":
        body = replaced(body, draw(st.sampled_from(places(body)[1:] or [()])), draw(ANYTHING))
    text = json.dumps(few_choices(body)).encode()
    return Asked("POST", path, text[: draw(st.integers(0, len(text)))] if kind == "cut" else text, (JSON,))


@pytest.mark.slow
@pytest.mark.parametrize("path", sorted(BODIES))
@settings(max_examples=settings.default.max_examples // 2, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_every_request_is_answered(ask: Ask, path: str, data: st.DataObject) -> None:
    ask(data.draw(mutations(path)))


def test_the_paths_of_the_recordings_are_the_server_s() -> None:
    assert BODIES.keys() == PATHS


@given(st.data())
def test_a_replacement_changes_one_place(data: st.DataObject) -> None:
    value = data.draw(st.dictionaries(st.text(max_size=2), ANYTHING, min_size=1, max_size=3))
    place = data.draw(st.sampled_from(places(value)[1:]))
    changed = replaced(value, place, "new")
    assert replaced(changed, place, None) == replaced(value, place, None)
    for key in place:
        changed = changed[key]
    assert changed == "new"
