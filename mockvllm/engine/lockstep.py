"""Requests that decode in step with each other: one token in every batch, so that two counters move all of them."""

from collections.abc import Iterator

from mockvllm.engine.request import Request


class Lockstep:
    """Every batch that is scheduled or in flight gives each member one token.

    While a request is a member, its token counts lack what the counters have moved since: `join` takes the counters
    off, `leave` adds them again. A member needs a block whenever its computed tokens fill the ones that it has: once in
    `block_size` batches, always at the same phase.
    """

    def __init__(self, block_size: int, async_scheduling: bool) -> None:
        self.num_scheduled = 0  # batches that were scheduled with the members
        self.num_updated = 0  # ... and updated
        self.updated_at = 0.0  # seconds
        self.last_seat = 0  # nobody who ever joined was admitted later
        self._async = async_scheduling
        self.members: dict[Request, int] = {}  # each with the batch before which it has to leave
        self.leaving: dict[int, dict[Request, None]] = {}  # ... and the other way round; members may have left already
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

    def contexts(self) -> Iterator[int]:
        """The computed tokens of each member."""
        return (request.num_computed_tokens + self.num_scheduled for request in self.members)

    def join(self, request: Request, num_batches: int) -> None:
        """Everything about `request` is foreseen for the next `num_batches` batches, and for those in flight."""
        self._shift(request, -1)
        last_batch = self.members[request] = self.num_scheduled + num_batches
        self.leaving.setdefault(last_batch, {})[request] = None
        self._phases[-request.num_computed_tokens % self._block_size][request] = None
        self._sum_computed += request.num_computed_tokens
        self.last_seat = max(self.last_seat, request.seat)

    def leave(self, request: Request) -> None:
        """Its fields are up to date again."""
        del self.members[request]
        del self._phases[-request.num_computed_tokens % self._block_size][request]
        self._sum_computed -= request.num_computed_tokens
        self._shift(request, 1)
        request.num_output_placeholders = request.num_in_flight_tokens if self._async else 0
        request.last_token_at = self.updated_at

    def _shift(self, request: Request, sign: int) -> None:
        request.num_computed_tokens += sign * self.num_scheduled
        request.num_tokens += sign * self.num_updated
        request.num_in_flight_tokens += sign * (self.num_scheduled - self.num_updated)

    def take_leaving(self) -> list[Request]:
        """The members that must not be part of the next batch."""
        batch = self.num_scheduled
        return [request for request in self.leaving.pop(batch, ()) if self.members.get(request) == batch]

    def due(self, batches_ahead: int = 0) -> dict[Request, None]:
        """The members that need a block in the next batch, or in one further ahead."""
        return self._phases[(self.num_scheduled + batches_ahead) % self._block_size]
