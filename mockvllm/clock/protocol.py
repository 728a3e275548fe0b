"""What every clock offers."""

from collections.abc import Callable
from typing import Protocol


class Timer(Protocol):
    """A callback that waits for its deadline."""

    def cancel(self) -> None: ...


class Clock(Protocol):
    """Seconds since an arbitrary start, and callbacks at absolute times, so that errors do not add up.

    `slack`: seconds by which whoever has many deadlines may be late to meet some of them together.
    """

    @property
    def slack(self) -> float: ...

    def now(self) -> float:
        """Seconds; never goes back."""
        ...

    def call_at(self, when: float, callback: Callable[[], None]) -> Timer:
        """Call once `now()` has reached `when`, never before; at equal times in the order of the calls."""
        ...

    def call_soon(self, callback: Callable[[], None]) -> None:
        """Call once what is happening right now is over, at the same `now()` where time stands still."""
        ...
