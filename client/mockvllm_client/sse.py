"""Server-sent events: bytes -> lines -> events, by the WHATWG standard (HTML, "Interpreting an event stream").

Lines end with LF, CR or CRLF wherever the reads cut them; UTF-8 is decoded a whole line at a time, so no cut can break
a character; there is no limit on the length of a line. What a good stream does not have is counted rather than raised.
"""

import re
from dataclasses import dataclass

_EOL = re.compile(rb"\r\n|\r|\n")
_BOM = b"\xef\xbb\xbf"
_FIELDS = (b"data", b"event", b"id", b"retry")
_SAMPLE = 200
_RETRY_DIGITS = 16  # more is nobody's delay, and int() has a limit of its own


@dataclass(frozen=True, slots=True)
class Event:
    """One dispatched event. `id` is the last event id seen so far; `retry` is in milliseconds, if this event set it."""

    data: str
    event: str = "message"
    id: str = ""
    retry: int | None = None


@dataclass(slots=True)
class Counts:
    """What a stream held. `stray` are bytes that are no SSE (say, a JSON error written raw), `sample` the first of
    them."""

    events: int = 0
    comments: int = 0
    empty: int = 0  # blocks without data: `data:` alone, or other fields only
    stray_lines: int = 0
    stray_bytes: int = 0
    sample: str = ""
    unfinished: bool = False  # the bytes ended inside an event, which the standard drops


class LineSplitter:
    """Bytes to lines without their endings; an unfinished line waits for the next chunk."""

    def __init__(self) -> None:
        self._partial = bytearray()
        self._after_cr = False

    @property
    def partial(self) -> bytes:
        """The unfinished line."""
        return bytes(self._partial)

    @property
    def inside(self) -> bool:
        """Whether a line has begun."""
        return bool(self._partial)

    def feed(self, chunk: bytes) -> list[bytes]:
        if not chunk:
            return []
        if self._after_cr and chunk.startswith(b"\n"):
            chunk = chunk[1:]
        self._after_cr = chunk.endswith(b"\r")
        head, *rest = _EOL.split(chunk)
        self._partial += head
        if not rest:
            return []
        lines = [bytes(self._partial), *rest[:-1]]
        self._partial = bytearray(rest[-1])
        return lines


class Decoder:
    """Bytes to events, incrementally. An event leaves as soon as its blank line is in."""

    def __init__(self) -> None:
        self.counts = Counts()
        self._lines = LineSplitter()
        self._first = True
        self._last_id = ""
        self._reset()

    @property
    def inside(self) -> bool:
        """Whether the bytes so far end within an event."""
        return self._open or self._lines.inside

    def feed(self, chunk: bytes) -> list[Event]:
        events = (self._line(line) for line in self._lines.feed(chunk))
        return [event for event in events if event is not None]

    def close(self) -> None:
        """The bytes are over: count what is left. A rest that is no beginning of a field is stray."""
        rest = self._lines.partial
        name = rest.partition(b":")[0]
        if rest and name and not any(field.startswith(name) for field in _FIELDS):
            self._stray(rest)
        else:
            self.counts.unfinished = self.inside

    def _reset(self) -> None:
        self._open = False
        self._data: list[bytes] = []
        self._type = ""
        self._retry: int | None = None

    def _line(self, line: bytes) -> Event | None:
        if self._first:
            self._first = False
            line = line.removeprefix(_BOM)
        if not line:
            return self._dispatch()
        name, _, value = line.partition(b":")
        if not name:
            self.counts.comments += 1
        elif name in _FIELDS:
            self._open = True
            self._field(name, value.removeprefix(b" "))
        else:
            self._stray(line)
        return None

    def _field(self, name: bytes, value: bytes) -> None:
        if name == b"data":
            self._data.append(value)
        elif name == b"event":
            self._type = _text(value)
        elif name == b"id" and b"\0" not in value:
            self._last_id = _text(value)
        elif name == b"retry" and value.isdigit() and len(value) < _RETRY_DIGITS:
            self._retry = int(value)

    def _dispatch(self) -> Event | None:
        if not self._open:
            return None
        event = None
        if self._data:
            event = Event(_text(b"\n".join(self._data)), self._type or "message", self._last_id, self._retry)
            self.counts.events += 1
        self.counts.empty += event is None or not event.data
        self._reset()
        return event

    def _stray(self, line: bytes) -> None:
        self.counts.sample = self.counts.sample or _text(line[:_SAMPLE])
        self.counts.stray_lines += 1
        self.counts.stray_bytes += len(line)


class Boundaries:
    """Where the events of a stream end, for who cuts bytes and reads none: `feed` gives offsets just behind each
    closing blank line."""

    def __init__(self) -> None:
        self._lines_open = False  # a line with something in it since the last boundary
        self._line_begun = False
        self._after_cr = False

    def feed(self, chunk: bytes) -> list[int]:
        ends: list[int] = []
        start = 0
        for eol in _EOL.finditer(chunk):
            if not self._is_tail_of_crlf(eol):
                begun = self._line_begun or eol.start() > start
                if not begun and self._lines_open:
                    ends.append(eol.end())
                self._lines_open = begun
                self._line_begun = False
            start = eol.end()
        if chunk:
            self._line_begun = self._line_begun or start < len(chunk)
            self._after_cr = chunk.endswith(b"\r")
        return ends

    def _is_tail_of_crlf(self, eol: re.Match[bytes]) -> bool:
        return self._after_cr and eol.start() == 0 and eol[0] == b"\n"


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")
