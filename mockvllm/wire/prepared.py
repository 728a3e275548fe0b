"""What every generation endpoint hands to the server, whatever its shape on the wire."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol

from typing_extensions import TypeVar

from mockvllm.wire.errors import APIError

EngineRequest = TypeVar("EngineRequest", default=Any)
"""The engine's request, of which the wire knows nothing."""


class Answer(Protocol):
    """The bytes of one exchange. It knows neither time nor sockets; choices are named by their index."""

    @property
    def num_prompt_tokens(self) -> int: ...
    @property
    def num_completion_tokens(self) -> int:
        """Of all choices, so far."""
        ...

    @property
    def can_stop(self) -> bool:
        """False: `stopped` need not be asked."""
        ...

    @property
    def cut_by_failure(self) -> bool:
        """True: behind what `failure` gives the connection is cut off, and the stream never ends."""
        ...

    def begin(self) -> bytes:
        """What a stream sends at once, before there is a token."""
        ...

    def chunks(self, index: int, n: int) -> bytes:
        """`n` events of one token each. The first call of the exchange also gives what comes before any token."""
        ...

    def merged(self, index: int, n: int) -> bytes:
        """One event of `n` tokens, as vLLM's output collector merges them when the reader lags."""
        ...

    def hold(self, index: int, n: int) -> None:
        """`n` tokens that leave with the next `merged` or `finish`; `stopped` knows them already."""
        ...

    def finish(self, index: int, n: int, finish_reason: str, stop_reason: int | str | None) -> bytes:
        """The last `n` tokens of a choice (0: none) and its end."""
        ...

    def stopped(self, index: int) -> tuple[str, str] | None:
        """("stop", stop string) when `chunks` or `merged` completed one; the bytes they gave already end the choice."""
        ...

    def close(self) -> bytes:
        """What ends a stream: the usage, if asked for, and `[DONE]`."""
        ...

    def body(self) -> bytes:
        """The whole body, when nothing is streamed and all choices have ended."""
        ...

    def failure(self, error: APIError) -> bytes:
        """An error inside a stream, and the stream's end."""
        ...

    def broken(self, error: APIError) -> bytes:
        """What the engine gives up ends with this: the rest of a stream, or a whole body."""
        ...


@dataclass(slots=True)
class Prepared(Generic[EngineRequest]):
    """A request that passed the checks. `script` tells the journal what is said and who decided it.

    `failure`: vLLM's engine refuses the request; a stream has begun by then (HTTP 200, then `answer.failure(failure)`),
    and no choice is to be started. Without a stream the error is raised instead.
    """

    request_id: str
    stream: bool
    choices: Sequence[EngineRequest]
    answer: Answer
    script: Mapping[str, Any] = field(default_factory=dict)
    failure: APIError | None = None
    model: str | None = None
    """As the client named it."""
