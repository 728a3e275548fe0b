"""What a verdict is."""

from dataclasses import dataclass, field
from enum import StrEnum


class Kind(StrEnum):
    """The classes of a verdict."""

    STREAMING = "STREAMING"
    COMPLETE = "COMPLETE"  # whole and sound, and no stream or too short a one to judge its timing
    BUFFERED = "BUFFERED"  # full, bytes, events, time, gzip
    EMPTY = "EMPTY"
    ABORTED = "ABORTED"
    TRUNCATED = "TRUNCATED"  # reset, eof, idle, ours, no_finish, no_done
    MALFORMED = "MALFORMED"  # stray, json
    INBAND_ERROR = "INBAND_ERROR"
    HTTP_ERROR = "HTTP_ERROR"


@dataclass(frozen=True, slots=True)
class Verdict:
    """`why` says it in words, `evidence` in numbers (times in ms, sizes in bytes)."""

    kind: Kind
    detail: str = ""
    why: str = ""
    evidence: dict[str, float | int | str] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """Whether a user got the answer, as it was made."""
        return self.kind in (Kind.STREAMING, Kind.COMPLETE)

    def __str__(self) -> str:
        return f"{self.kind}({self.detail})" if self.detail else str(self.kind)
