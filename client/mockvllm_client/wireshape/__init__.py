"""How bytes travel: held, joined, cut, ended. One small interface over pieces that carry their time; pure, no sockets,
no clock.

A shape is one hop. Bytes go in with the time they came (`feed`), pieces come out with the time they leave, which may be
later; `due` says when held bytes leave though nothing comes (`wake`); `end` says how the body ended. Times are seconds
on any one clock and never go back. An empty piece is the head of a message: a hop that holds nothing passes it on, a
hop that holds bytes keeps the head until they leave.
"""

from collections.abc import Callable

from mockvllm_client.wireshape.chain import Chain
from mockvllm_client.wireshape.cut import Split, Truncate
from mockvllm_client.wireshape.hold import Blocks, Events, Full, Timed
from mockvllm_client.wireshape.piece import Ending, Pass, Piece, Shape, pour

__all__ = [
    "Blocks",
    "Chain",
    "Ending",
    "Events",
    "Full",
    "Pass",
    "Piece",
    "Shape",
    "Split",
    "Timed",
    "Truncate",
    "buffer",
    "pour",
]

_BUFFERS: dict[str, Callable[[int], Shape]] = {
    "bytes": Blocks,
    "events": Events,
    "time": lambda milliseconds: Timed(milliseconds / 1000),
}


def buffer(text: str) -> Callable[[], Shape]:
    """The maker of the shape that `off`, `full`, `bytes:N`, `time:MS` or `events:N` names; ValueError for anything
    else."""
    if text in ("off", "full"):
        return Pass if text == "off" else Full
    name, _, number = text.partition(":")
    if name not in _BUFFERS or not (number.isascii() and number.isdigit() and int(number) > 0):
        raise ValueError(f"{text!r} is none of off, full, bytes:N, time:MS, events:N (N and MS whole numbers above 0)")
    return lambda: _BUFFERS[name](int(number))
