"""`vllm bench serve --dataset-name random` (0.33.0), with priorities.

Every draw comes from (seed, request id): a request is the same whatever else the workload holds.
"""

import math
import random
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from mockvllm.simulation.arrivals import Arrivals
from mockvllm.simulation.tokens import own_tokens, shared_tokens
from mockvllm.simulation.workload import Workload

PREFIX = 0  # the name of the tokens that all prompts share


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomDataset:
    """Lengths in tokens, drawn evenly from length x (1 - `range_ratio`) to length x (1 + `range_ratio`).

    Every prompt starts with the same `prefix_len` tokens, which come on top of `input_len`. `priority_mix`: how often
    each priority is drawn, by weight.
    """

    num_prompts: int = 1000
    input_len: int = 1024
    output_len: int = 128
    range_ratio: float = 0.0
    prefix_len: int = 0
    priority_mix: Mapping[int, float] = field(default_factory=lambda: {0: 1.0})
    arrivals: Arrivals = field(default_factory=Arrivals)
    seed: int = 0

    def workload(self) -> Workload:
        prompt_lens, output_lens, priorities, gaps = array("q"), array("q"), array("q"), array("d")
        for number in range(self.num_prompts):
            draws = request_draws(self.seed, number)
            prompt_lens.append(self.prefix_len + self._length(self.input_len, draws.random()))
            output_lens.append(self._length(self.output_len, draws.random()))
            priorities.append(choose(self.priority_mix, draws.random()))
            gaps.append(self.arrivals.gap(draws))

        def prompt(number: int) -> Sequence[int]:
            own = own_tokens(number, prompt_lens[number] - self.prefix_len)
            return [*shared_tokens(PREFIX, self.prefix_len), *own] if self.prefix_len else own

        return Workload(self.arrivals.times(gaps), prompt_lens, output_lens, priorities, prompt)

    def _length(self, mean: int, draw: float) -> int:
        low = max(1, math.floor(mean * (1 - self.range_ratio)))
        high = math.ceil(mean * (1 + self.range_ratio))
        return low + int(draw * (high - low + 1))


def request_draws(seed: int, number: int) -> random.Random:
    """Where the draws of a request come from."""
    return random.Random(f"{seed}:{number}")


def choose(weights: Mapping[int, float], draw: float) -> int:
    """The key for a draw from [0, 1)."""
    rest = draw * math.fsum(weights.values())
    for key, weight in weights.items():
        rest -= weight
        if rest < 0:
            return key
    return key
