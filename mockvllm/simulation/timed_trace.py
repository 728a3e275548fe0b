"""Traces of real load: JSON lines as `vllm bench serve --dataset-name timed_trace --self-timed` reads them (0.33.0),
with priorities."""

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from mockvllm.simulation.random_dataset import choose, request_draws
from mockvllm.simulation.tokens import own_tokens, shared_tokens
from mockvllm.simulation.workload import Workload

MOST_TOKENS = 10**9
LATEST = 1e15  # of a unit of time: floats still tell neighbours apart


class TracedRequest(msgspec.Struct, frozen=True):
    """`hash_ids`: the names of the chunks that the prompt starts with; prompts share the chunks that they both name."""

    timestamp: float
    input_length: int
    output_length: int
    hash_ids: list[int] = []
    priority: int | None = None

    def __post_init__(self) -> None:
        for name in ("input_length", "output_length"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, not {getattr(self, name)}")
            if getattr(self, name) > MOST_TOKENS:
                raise ValueError(f"{name} must be at most {MOST_TOKENS}, not {getattr(self, name)}")
        if self.priority is not None and not -(2**63) <= self.priority < 2**63:
            raise ValueError(f"priority must have 64 bits, not {self.priority}")
        if not abs(self.timestamp) < LATEST:
            raise ValueError(f"timestamp must be within {LATEST:g}, not {self.timestamp}")
        if any(name < 0 for name in self.hash_ids):
            raise ValueError(f"hash_ids must not be negative, not {min(self.hash_ids)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedTrace:
    """The first `num_prompts` lines of a file (None: all). The first request is sent at the start.

    `sec_multiplier`: seconds in a unit of `timestamp`. A chunk has `chunk_hash_size` tokens; what the chunks do not
    cover of a prompt it shares with nobody. `priority_mix` is for lines without a priority (`RandomDataset`).
    """

    path: Path
    num_prompts: int | None = None
    chunk_hash_size: int = 16
    sec_multiplier: float = 1.0
    priority_mix: Mapping[int, float] = field(default_factory=lambda: {0: 1.0})
    seed: int = 0

    def workload(self) -> Workload:
        """Raises ValueError naming the file, the line and the field; OSError if the file cannot be read."""
        requests = self._read()
        start = requests[0].timestamp
        return Workload(
            arrivals=array("d", ((request.timestamp - start) * self.sec_multiplier for request in requests)),
            prompt_lens=array("q", (request.input_length for request in requests)),
            output_lens=array("q", (request.output_length for request in requests)),
            priorities=array("q", (self._priority(number, request) for number, request in enumerate(requests))),
            prompt=lambda number: self._prompt(number, requests[number]),
        )

    def _read(self) -> list[TracedRequest]:
        requests: list[TracedRequest] = []
        decode = msgspec.json.Decoder(TracedRequest).decode
        with self.path.open("rb") as lines:
            for number, line in enumerate(lines, 1):
                if len(requests) == self.num_prompts:
                    break
                if line.strip():
                    try:
                        requests.append(decode(line))
                    except msgspec.DecodeError as error:
                        raise ValueError(f"{self.path}:{number}: {error}") from None
        if not requests:
            raise ValueError(f"{self.path}: holds no requests")
        return sorted(requests, key=lambda request: request.timestamp)

    def _priority(self, number: int, request: TracedRequest) -> int:
        if request.priority is not None:
            return request.priority
        return choose(self.priority_mix, request_draws(self.seed, number).random())

    def _prompt(self, number: int, request: TracedRequest) -> Sequence[int]:
        size, length = self.chunk_hash_size, request.input_length
        chunks = [token for name in request.hash_ids[: -(-length // size)] for token in shared_tokens(name, size)]
        return [*chunks[:length], *own_tokens(number, max(0, length - len(chunks)))]
