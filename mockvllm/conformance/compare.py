"""Two answers to one request: the first thing that differs."""

import json
from dataclasses import dataclass
from http import HTTPStatus
from itertools import zip_longest

from mockvllm.conformance.normalise import comparable, normal
from mockvllm.conformance.recordings import Answer
from mockvllm.conformance.shapes import shapes
from mockvllm.conformance.streams import by_choice, folded, is_stream

CONTEXT = 80
"""Characters shown before the first one that differs."""


@dataclass(frozen=True, slots=True)
class Difference:
    """`what` differs (status, headers, body, shape, an event), and both sides of it."""

    what: str
    expected: str
    got: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """How answers are compared: the version that each side says it is; `by_shape` where another model speaks;
    `exact_events` where it matters how many tokens an event carries.
    """

    expected_version: str
    got_version: str
    by_shape: bool = False
    exact_events: bool = False

    def difference(self, expected: Answer, got: Answer) -> Difference | None:
        """None if they are equal but for what varies from run to run."""
        wanted = normal(expected.body_text, self.expected_version)
        found = normal(got.body_text, self.got_version)
        if expected.status != got.status:
            return Difference("status", f"{expected.status} {wanted}", f"{got.status} {found}")
        if headers := _header_difference(expected, got):
            return headers
        if self.by_shape and got.status < HTTPStatus.BAD_REQUEST:  # an error's text is the server's, not the model's
            return _shape_difference(shapes(wanted), shapes(found))
        return self._body_difference(wanted, found)

    def _body_difference(self, expected: str, got: str) -> Difference | None:
        if expected == got:
            return None
        if is_stream(expected) and is_stream(got):
            return self._stream_difference(by_choice(expected), by_choice(got))
        return Difference(_kind(expected, got), *_excerpts(expected, got))

    def _stream_difference(
        self, expected: dict[int | None, list[str]], got: dict[int | None, list[str]]
    ) -> Difference | None:
        for index in expected | got:
            wanted, found = expected.get(index, []), got.get(index, [])
            if wanted == found or (not self.exact_events and folded(wanted) == folded(found)):
                continue
            pairs = enumerate(zip_longest(wanted, found, fillvalue=""))
            place, (left, right) = next((place, pair) for place, pair in pairs if pair[0] != pair[1])
            where = "" if index is None else f" of choice {index}"
            return Difference(f"event {place}{where}", *_excerpts(left, right))
        return None


def _header_difference(expected: Answer, got: Answer) -> Difference | None:
    wanted, found = comparable(expected.headers), comparable(got.headers)
    if wanted == found:
        return None
    sides = [header for header in wanted if header not in found], [header for header in found if header not in wanted]
    return Difference("headers", *(", ".join(f"{name}: {value}" for name, value in side) for side in sides))


def _shape_difference(expected: list[str], got: list[str]) -> Difference | None:
    if expected == got:
        return None
    sides = [shape for shape in expected if shape not in got], [shape for shape in got if shape not in expected]
    return Difference("shape", *("\n".join(side) for side in sides))


def _kind(expected: str, got: str) -> str:
    """`key order or spacing` where both say the same."""
    try:
        return "key order or spacing" if json.loads(expected) == json.loads(got) else "body"
    except ValueError:
        return "body"


def _excerpts(expected: str, got: str) -> tuple[str, str]:
    """Both from a little before the first character that differs."""
    pairs = enumerate(zip_longest(expected, got))
    start = max(0, next(place for place, pair in pairs if pair[0] != pair[1]) - CONTEXT)
    return expected[start:], got[start:]
