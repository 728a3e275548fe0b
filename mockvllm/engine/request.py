"""A request as the engine sees it: what it asks for, and what the scheduler keeps on it."""

import enum
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Protocol

FinishReason = Literal["stop", "length", "repetition", "abort", "error"]
BlockHash = Hashable
NEVER = 1 << 62  # a token count that no request reaches


class TokenSource(Protocol):
    """What a request will say. Its answers depend on the index alone, never on when or how often they are asked for.

    `end`: it stops by itself after this many tokens, with no end token (`None`: it goes on). The engine asks for no
    index at or beyond `end`, `max_tokens` or the model's length.
    """

    @property
    def end(self) -> int | None: ...

    def token(self, index: int) -> int: ...

    def tokens(self, start: int, stop: int) -> Sequence[int]: ...


class Pacing(NamedTuple):
    """When a request speaks under `fixed`, in seconds: first token at arrival + `ttft` (`queue` of it passes before it
    may be scheduled), each further one `itl` later."""

    queue: float = 0.0
    ttft: float = 0.0
    itl: float = 0.0


class RepetitionDetection(NamedTuple):
    """Ends a request whose last p x `min_count` output tokens are `min_count` copies of one pattern of p tokens, for
    some p from `min_pattern_size` (0 counts as 1) to `max_pattern_size`."""

    max_pattern_size: int
    min_pattern_size: int
    min_count: int


class RequestStatus(enum.Enum):
    """vLLM's states, as far as a text request meets them."""

    NEW = "new"
    WAITING = "waiting"
    WAITING_FOR_REMOTE_KVS = "waiting_for_remote_kvs"
    RUNNING = "running"
    PREEMPTED = "preempted"
    FINISHED = "finished"


@dataclass(slots=True, eq=False, repr=False)
class Request:
    """One sequence. Times are seconds of whatever clock gives `now`; `arrival_time` also orders equal priorities.

    Fields after `owner` belong to the engine. `max_tokens` is at least 1; the prompt is shorter than `max_model_len`.
    """

    request_id: str
    prompt_token_ids: Sequence[int]
    max_tokens: int
    outputs: TokenSource
    arrival_time: float
    priority: int = 0
    eos_token_id: int | None = None
    stop_token_ids: Sequence[int] = ()
    ignore_eos: bool = False
    min_tokens: int = 0
    repetition_detection: RepetitionDetection | None = None
    cache_salt: str | None = None
    lora_name: str | None = None
    lora_path: str | None = None
    skip_reading_prefix_cache: bool = False
    report_cached_blocks: bool = False  # vLLM's kv_cache_report_mode "full": announce reused blocks again
    pacing: Pacing | None = None
    kv_transfer_params: Mapping[str, Any] | None = None  # only for an engine with a KV connector
    max_tokens_per_result: int | None = None  # `fixed`: at most so many, whatever the engine allows
    owner: Any = None

    status: RequestStatus = field(default=RequestStatus.NEW, init=False)
    finish_reason: FinishReason | None = field(default=None, init=False)
    stop_reason: int | str | None = field(default=None, init=False)
    num_prompt_tokens: int = field(init=False)
    num_tokens: int = field(init=False)  # prompt + delivered output
    max_num_tokens: int = field(init=False)  # prompt + max_tokens
    num_computed_tokens: int = field(default=0, init=False)
    num_output_placeholders: int = field(default=0, init=False)  # async: sampled, not yet delivered
    num_in_flight_tokens: int = field(default=0, init=False)  # scheduled, their step not yet updated
    num_stale_tokens: int = field(default=0, init=False)  # in flight when it was preempted
    drop_stale: bool = field(default=False, init=False)  # ... and to be sampled again
    is_prefill_chunk: bool = field(default=False, init=False)  # its last step left prompt tokens to compute
    num_cached_tokens: int = field(default=0, init=False)  # what it found when it was first admitted: hit and fetched
    num_external_computed_tokens: int = field(default=0, init=False)  # those fetched from another engine
    remote_prefill_cached_tokens: int | None = field(default=None, init=False)  # the hit where its prompt was computed
    finished_kv_transfer_params: Mapping[str, Any] | None = field(
        default=None, init=False
    )  # how its blocks are fetched
    num_preemptions: int = field(default=0, init=False)
    seat: int = field(default=0, init=False)  # its place in the order of admission (lockstep)

    block_ids: list[int] = field(default_factory=list, init=False)
    num_slots: int = field(default=0, init=False)  # tokens its blocks can hold
    block_hashes: list[BlockHash] = field(default_factory=list, init=False)
    num_cached_blocks: int = field(default=0, init=False)  # leading blocks that are in the prefix cache
    hash_at: int = field(default=NEVER, init=False)  # computed tokens at which the next block is full

    check_at: int = field(default=0, init=False)  # num_tokens up to which no stop condition can hold
    # only under `fixed`
    arrival_number: int = field(default=0, init=False)
    admission_pass: int = field(default=-1, init=False)  # the first admission pass that can seat it
    itl: float = field(default=0.0, init=False)
    pace_origin: float = field(default=0.0, init=False)  # when the first token was due, had all been paced alike
    next_deadline: "Deadline | None" = field(default=None, init=False)

    queued_at: float | None = field(default=None, init=False)
    scheduled_at: float | None = field(default=None, init=False)
    first_token_at: float | None = field(default=None, init=False)
    last_token_at: float | None = field(default=None, init=False)
    finished_at: float | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self.num_prompt_tokens = self.num_tokens = len(self.prompt_token_ids)
        self.max_num_tokens = self.num_prompt_tokens + self.max_tokens

    @property
    def num_output_tokens(self) -> int:
        """Output tokens delivered so far."""
        return self.num_tokens - self.num_prompt_tokens

    @property
    def reported_cached_tokens(self) -> int:
        """Cached tokens as a response's usage has them: those where the prompt was computed, if that was elsewhere."""
        reported = self.remote_prefill_cached_tokens
        return self.num_cached_tokens if reported is None else reported

    def due_at(self, num_tokens: int) -> float:
        """`fixed`: when the token behind the first `num_tokens` of prompt and output is due."""
        return self.pace_origin + (num_tokens - self.num_prompt_tokens) * self.itl

    def token_ids(self, start: int, stop: int) -> tuple[int, ...]:
        """Tokens `start` to `stop` of prompt and output together."""
        prompt = self.num_prompt_tokens
        if stop <= prompt:
            return tuple(self.prompt_token_ids[start:stop])
        if start >= prompt:
            return tuple(self.outputs.tokens(start - prompt, stop - prompt))
        return (*self.prompt_token_ids[start:], *self.outputs.tokens(0, stop - prompt))

    def __repr__(self) -> str:
        return f"Request({self.request_id!r}, {self.status.value}, {self.num_tokens} tokens)"


Deadline = tuple[float, int, Request]
"""(when it is due, `arrival_number`, the request)."""
