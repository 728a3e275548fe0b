"""Requests that decode in step with each other: one token in every batch, so that two counters move all of them."""

from collections.abc import Iterator
from itertools import cycle, islice

from mockvllm.engine.request import Request

NOBODY = -1, -1  # the batches of no member


class Lockstep:
    """Every batch that is scheduled from its joining on gives each member one token.

    While a request is a member, its fields tell of the batches before, which list it: `leave` adds what the counters
    have moved since. A member needs a block whenever its computed tokens fill the ones that it has: once in
    `block_size` batches, always at the same phase.
    """

    def __init__(self, block_size: int, async_scheduling: bool) -> None:
        self.num_scheduled = 0  # batches
        self.num_updated = 0
        self.updated_at = 0.0  # seconds
        self.last_seat = 0  # nobody who ever joined was admitted later
        self._async = async_scheduling
        self.members: dict[Request, tuple[int, int]] = {}  # the first batch of each, and the one before which it leaves
        self.leaving: dict[int, dict[Request, None]] = {}  # by that batch; who is in there may have left already
        self._block_size = block_size
        self._phases: list[dict[Request, None]] = [{} for _ in range(block_size)]
        self._sum_computed = 0

    @property
    def num_computed_tokens(self) -> int:
        """Of all members together."""
        return self._sum_computed + len(self.members) * self.num_scheduled

    def first(self) -> Request:
        """The member that was admitted before all others."""
        return min(self.members, key=lambda request: request.seat)

    def context(self, request: Request) -> int:
        """The computed tokens of a member."""
        return request.num_computed_tokens + self.num_scheduled - self.members[request][0]

    def num_tokens(self, request: Request) -> int:
        """The known tokens of a member."""
        return request.num_tokens + max(0, self.num_updated - self.members[request][0])

    def contexts(self) -> Iterator[int]:
        """The computed tokens of each member."""
        return map(self.context, self.members)

    def join(self, request: Request, num_batches: int) -> None:
        """Everything about `request` is foreseen for the next `num_batches` batches, and for those in flight."""
        first = self.num_scheduled
        self.members[request] = first, first + num_batches
        self.leaving.setdefault(first + num_batches, {})[request] = None
        phase = first - request.num_computed_tokens
        self._phases[phase % self._block_size][request] = None
        self._sum_computed -= phase
        if request.seat > self.last_seat:
            self.last_seat = request.seat

    def leave(self, request: Request) -> int:
        """Its fields are up to date again. Returns how many batches in flight have it as a member."""
        first, _ = self.members.pop(request)
        phase = first - request.num_computed_tokens
        del self._phases[phase % self._block_size][request]
        self._sum_computed += phase
        said = max(0, self.num_updated - first)
        in_flight = self.num_scheduled - first - said
        request.num_computed_tokens += said + in_flight
        request.num_in_flight_tokens += in_flight
        if self._async:
            request.num_output_placeholders += in_flight
        if said:
            request.num_tokens += said
            request.last_token_at = self.updated_at
        return in_flight

    def take_leaving(self) -> list[Request]:
        """The members that must not be part of the next batch."""
        batch = self.num_scheduled
        return [request for request in self.leaving.pop(batch, ()) if self.members.get(request, NOBODY)[1] == batch]

    def due(self, batches_ahead: int = 0) -> dict[Request, None]:
        """The members that need a block in the next batch, or in one further ahead."""
        return self._phases[(self.num_scheduled + batches_ahead) % self._block_size]

    def num_due(self, count: int) -> Iterator[int]:
        """How many members need a block, in each of the next `count` batches."""
        start = self.num_scheduled % self._block_size
        phases = self._phases[start:] + self._phases[:start]
        return islice(cycle(map(len, phases)), count)
