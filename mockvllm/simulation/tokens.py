"""Token ids of prompts and answers: equal where a dataset says that prompts share something, else never."""

from collections.abc import Sequence
from dataclasses import dataclass

ROOM = 1 << 32  # ids that each request, prefix and chunk has for itself


@dataclass(frozen=True, slots=True)
class Answer:
    """Ids in a row, without end."""

    first: int
    end: int | None = None

    def token(self, index: int) -> int:
        return self.first + index

    def tokens(self, start: int, stop: int) -> Sequence[int]:
        return range(self.first + start, self.first + stop)


ANY_ANSWER = Answer(0)
"""For whoever does not care what is said."""


def own_answer(number: int) -> Answer:
    """What only request `number` says."""
    return Answer((2 * number + 1) * ROOM)


def own_tokens(number: int, length: int) -> range:
    """Tokens that only the prompt of request `number` has."""
    return range(2 * number * ROOM, 2 * number * ROOM + length)


def shared_tokens(name: int, length: int) -> range:
    """The tokens that are known by a name, which is not negative: the same in every prompt."""
    return range(-(name + 1) * ROOM, -(name + 1) * ROOM + length)
