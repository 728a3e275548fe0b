"""Time that a person or a test moves by hand, under a live server."""

import asyncio
from collections.abc import Callable

from mockvllm.clock.virtual import VirtualClock


class ManualClock(VirtualClock):
    """Stands still until `advance`. What must happen at once happens on the loop, so that requests are served."""

    __slots__ = ("_loop",)

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self._loop = loop

    def call_soon(self, callback: Callable[[], None]) -> None:
        super().call_soon(callback)
        self._loop.call_soon(self._settle)

    def advance(self, seconds: float) -> float:
        """Move by `seconds`, playing every deadline on the way; returns the time reached. ValueError when negative."""
        if not seconds >= 0:
            raise ValueError(f"cannot advance the clock by {seconds} s: time never goes back")
        self.run(until=self.now() + seconds)
        return self.now()
