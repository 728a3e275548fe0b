"""What is printed while the reader may leave at any time (`mockvllm serve | head`)."""

import os
from typing import TextIO


def say(stream: TextIO, text: str) -> None:
    """Write it at once. When nobody reads any more it goes nowhere and the server goes on."""
    try:
        stream.write(text)
        stream.flush()
    except BrokenPipeError:
        to_nowhere(stream)


def to_nowhere(stream: TextIO) -> None:
    """What is still buffered, and all that follows, is dropped: without a reader it is no error of ours."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
