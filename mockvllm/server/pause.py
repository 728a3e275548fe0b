"""A coroutine that is run by hand: it pauses, or else a task does the rest."""

from collections.abc import Coroutine, Generator
from types import coroutine
from typing import Any


@coroutine
def pause() -> Generator[None, None, None]:
    """Until whoever runs the coroutine by `send(None)` does it again."""
    yield


async def rest(begun: Coroutine[Any, Any, None], waits_for: Any) -> None:
    """For a task: what is left of a coroutine that has begun and waits for this future now."""
    await _rest(begun, waits_for)


@coroutine
def _rest(begun: Coroutine[Any, Any, None], waits_for: Any) -> Generator[Any, Any, None]:
    try:
        while True:
            try:
                value = yield waits_for
            except BaseException as error:  # a task that is cancelled is told so by an exception
                waits_for = begun.throw(error)
            else:
                waits_for = begun.send(value)
    except StopIteration:
        return
