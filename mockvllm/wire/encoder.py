"""Between an answer and its endpoint: what a choice says, and how the endpoint writes it."""

from collections.abc import Sequence
from typing import Protocol

import msgspec

from mockvllm.wire.errors import APIError


class Delta(Protocol):
    """What some tokens add to a choice; `start` is the index of the first of them."""

    @property
    def text(self) -> str: ...
    @property
    def start(self) -> int: ...
    @property
    def token_ids(self) -> Sequence[int]: ...


class Output(Protocol):
    """A choice's text as its tokens come. `pieces`: the tokens' texts escaped for JSON, longer after `grow`."""

    num_tokens: int
    stop_reason: str | None
    pieces: list[bytes]

    @property
    def num_waiting(self) -> int: ...
    def grow(self, stop: int, /) -> None: ...
    def ends_silently(self, finish_reason: str, n: int) -> bool: ...
    def advance(self, n: int, *, silent_end: bool = False) -> None: ...
    def collect(self, *, finished: bool = False) -> Delta: ...
    def skip(self) -> None: ...


class End(msgspec.Struct, frozen=True, gc=False):
    """Why a choice ended (`stop`, `length`, `repetition`, `abort`), and by which stop string or stop token id."""

    finish_reason: str
    stop_reason: int | str | None = None


class Said(msgspec.Struct, frozen=True, gc=False):
    """A whole choice."""

    delta: Delta
    end: End


class Encoder(Protocol):
    """The shapes of one endpoint's response to one request. `num_tokens`: the choice's tokens so far."""

    @property
    def is_plain(self) -> bool:
        """True: the events of a choice differ in their texts only, and all stand in the same `frame`."""
        ...

    def opening(self) -> bytes: ...
    def frame(self, index: int) -> tuple[bytes, bytes]: ...
    def delta(self, index: int, delta: Delta, num_tokens: int) -> bytes: ...
    def finish(self, index: int, delta: Delta, num_tokens: int, end: End) -> bytes: ...
    def closing(self, num_completion_tokens: int) -> bytes: ...
    def failure(self, error: APIError) -> bytes: ...
    def error_body(self, error: APIError) -> bytes: ...
    def body(self, choices: Sequence[Said]) -> bytes: ...
