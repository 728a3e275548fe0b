"""What a load generator sends, and when: one column for each property of a request."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Workload:
    """Requests in the order in which they want to be sent. `arrivals`: seconds since the start, ascending; lengths in
    tokens.

    `prompt(number)` gives the tokens of a prompt: those of different requests are equal where the dataset says so.
    """

    arrivals: Sequence[float]
    prompt_lens: Sequence[int]
    output_lens: Sequence[int]
    priorities: Sequence[int]
    prompt: Callable[[int], Sequence[int]]

    def __len__(self) -> int:
        return len(self.arrivals)
