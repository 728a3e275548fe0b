"""Timing on real sockets. A busy machine only ever adds to a time: one run within the figures is proof enough."""

import functools
from collections.abc import Callable
from typing import Any

RUNS = 3


def patient(test: Callable[..., None]) -> Callable[..., None]:
    """Give `test` up to three runs; the last one's failure counts."""

    @functools.wraps(test)
    def run(*args: Any, **kwargs: Any) -> None:
        for _ in range(RUNS - 1):
            try:
                return test(*args, **kwargs)
            except AssertionError:
                continue
        return test(*args, **kwargs)

    return run
