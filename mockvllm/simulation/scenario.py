"""Scheduler scenarios: the file format in which step traces of the real vLLM were recorded.

A scenario counts in ticks, not in seconds. Its tokens are arithmetic: tok(seed, i) = 1000 + (131 seed + 7 i) mod 30011.
"""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import msgspec

from mockvllm.engine import Request, SchedulerConfig

EOS_TOKEN_ID = 2
STOP_TOKEN_ID = 3
FIRST_OUT_SEED = 5000


class ScenarioError(ValueError):
    """The file is not a scenario; the message names the file, the field and the value."""


class ScenarioConfig(SchedulerConfig, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`kv_events`: whether the trace shows KV events."""

    kv_events: bool = False


class ScenarioRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`at`: tick of arrival. `prompt`: segments of (seed, number of tokens). `eos_at`, `stop_at`: the output token,
    counted from 1, that is the end token, or a stop token."""

    id: str
    at: int
    prompt: list[tuple[int, int]]
    max_tokens: int
    out_seed: int | None = None
    eos_at: int | None = None
    stop_at: int | None = None
    ignore_eos: bool = False
    min_tokens: int = 0
    priority: int = 0
    arrival_time: float | None = None
    cache_salt: str | None = None
    skip_reading_prefix_cache: bool = False


class Action(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What happens at the start of a tick, before its arrivals; `abort_mid` while its step executes."""

    at: int
    do: Literal["abort", "abort_mid", "reset_prefix_cache", "pause", "resume"]
    ids: list[str] = []
    running: bool = False
    mode: Literal["PAUSED_NEW", "PAUSED_ALL"] = "PAUSED_NEW"


class ClosedLoop(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """As many requests in flight as there are `slots` (the priority of each) until `total` were sent. Request k says
    `output` - `jitter` + (37 k mod (2 `jitter` + 1)) tokens."""

    slots: list[int]
    total: int
    prompt: int
    output: int
    jitter: int = 0

    def request(self, index: int, slot: int, tick: int) -> ScenarioRequest:
        """Request number `index`, sent from `slot`."""
        spread = 37 * index % (2 * self.jitter + 1)
        return ScenarioRequest(
            id=str(index),
            at=tick,
            prompt=[(index, self.prompt)],
            max_tokens=self.output - self.jitter + spread,
            priority=self.slots[slot],
        )


class Scenario(msgspec.Struct, frozen=True, kw_only=True):
    """`record` "aggregate": the trace is a summary only. `block_ids`: it shows them. `max_ticks`: where it is cut."""

    config: ScenarioConfig
    name: str = ""
    requests: list[ScenarioRequest] = []
    actions: list[Action] = []
    closed_loop: ClosedLoop | None = None
    record: Literal["steps", "aggregate"] = "steps"
    block_ids: bool = False
    max_ticks: int | None = None

    def __post_init__(self) -> None:
        for request_id, times in Counter(request.id for request in self.requests).items():
            if times > 1:
                raise ValueError(f"request id {request_id!r} is used more than once")
        for request in self.requests:
            _check(request, self.config.max_model_len)


def _check(request: ScenarioRequest, max_model_len: int) -> None:
    length = sum(n for _, n in request.prompt)
    if not 0 < length < max_model_len:
        raise ValueError(
            f"request {request.id!r}: a prompt of {length} tokens does not go with max_model_len {max_model_len}"
        )
    if request.max_tokens < 1:
        raise ValueError(f"request {request.id!r}: max_tokens must be at least 1, not {request.max_tokens}")


def read_scenario(path: Path) -> Scenario:
    """The scenario in a JSON file. Raises ScenarioError."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Scenario)
    except (OSError, msgspec.DecodeError) as error:
        raise ScenarioError(f"{path}: {error}") from error


def tok(seed: int, start: int, stop: int) -> list[int]:
    """Tokens `start` to `stop` of a seed's sequence."""
    return [1000 + (131 * seed + 7 * i) % 30011 for i in range(start, stop)]


class ScenarioTokens:
    """What a request says: the sequence of its seed, with the end token and a stop token at given places."""

    end: int | None = None

    def __init__(self, seed: int, eos_at: int | None, stop_at: int | None) -> None:
        self._seed = seed
        self._special = {
            at - 1: token for at, token in ((stop_at, STOP_TOKEN_ID), (eos_at, EOS_TOKEN_ID)) if at is not None
        }

    def token(self, index: int) -> int:
        return self.tokens(index, index + 1)[0]

    def tokens(self, start: int, stop: int) -> Sequence[int]:
        tokens = tok(self._seed, start, stop)
        for index, token in self._special.items():
            if start <= index < stop:
                tokens[index - start] = token
        return tokens


def engine_request(request: ScenarioRequest, index: int) -> Request:
    """The engine's request number `index` in order of addition."""
    out_seed = FIRST_OUT_SEED + index if request.out_seed is None else request.out_seed
    return Request(
        request_id=request.id,
        prompt_token_ids=[token for seed, n in request.prompt for token in tok(seed, 0, n)],
        max_tokens=request.max_tokens,
        outputs=ScenarioTokens(out_seed, request.eos_at, request.stop_at),
        arrival_time=float(index) if request.arrival_time is None else request.arrival_time,
        priority=request.priority,
        eos_token_id=EOS_TOKEN_ID,
        stop_token_ids=(STOP_TOKEN_ID,),
        ignore_eos=request.ignore_eos,
        min_tokens=request.min_tokens,
        cache_salt=request.cache_salt,
        skip_reading_prefix_cache=request.skip_reading_prefix_cache,
    )
