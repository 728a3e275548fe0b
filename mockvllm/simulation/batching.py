"""Static and continuous batching of a few requests, seat by seat: a token a step and request, the first in the step of
its prefill."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

IDLE = "·"


@dataclass(frozen=True, slots=True)
class Seating:
    """`grid`: a row for each seat and a cell for each step: the request's name and the number of its token, or `IDLE`.

    `first_token`: by name, the step (counted from 1) in which a request says its first token.
    """

    grid: Sequence[Sequence[str]]
    first_token: Mapping[str, int]

    @property
    def steps(self) -> int:
        return len(self.grid[0])

    @property
    def seat_steps(self) -> int:
        return self.steps * len(self.grid)

    @property
    def used(self) -> int:
        """Seats that said a token, over all steps."""
        return sum(cell != IDLE for cell in chain.from_iterable(self.grid))

    @property
    def share(self) -> float:
        return self.used / self.seat_steps


def static_batching(outputs: Mapping[str, int], num_seats: int) -> Seating:
    """A batch fills the seats, and the next one begins when its longest answer is complete. `outputs`: the tokens of
    each request, in the order in which they wait."""
    starts: dict[str, tuple[int, int]] = {}
    waiting, begin = list(outputs), 0
    while waiting:
        batch, waiting = waiting[:num_seats], waiting[num_seats:]
        starts |= {name: (seat, begin) for seat, name in enumerate(batch)}
        begin += max(outputs[name] for name in batch)
    return _seating(outputs, num_seats, starts)


def continuous_batching(outputs: Mapping[str, int], num_seats: int) -> Seating:
    """A seat that gets free is taken in the next step by who waits first; of several seats the first one."""
    starts: dict[str, tuple[int, int]] = {}
    free_from = [0] * num_seats
    for name, length in outputs.items():
        begin = min(free_from)
        seat = free_from.index(begin)
        starts[name] = (seat, begin)
        free_from[seat] = begin + length
    return _seating(outputs, num_seats, starts)


def _seating(outputs: Mapping[str, int], num_seats: int, starts: Mapping[str, tuple[int, int]]) -> Seating:
    """`starts`: seat and step, counted from 0, of each request."""
    num_steps = max(begin + outputs[name] for name, (_, begin) in starts.items())
    grid = [[IDLE] * num_steps for _ in range(num_seats)]
    for name, (seat, begin) in starts.items():
        grid[seat][begin : begin + outputs[name]] = [f"{name}{number}" for number in range(1, outputs[name] + 1)]
    return Seating(grid, {name: begin + 1 for name, (_, begin) in starts.items()})
