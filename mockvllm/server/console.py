"""What the server prints."""

import os
from typing import TextIO


def say(stream: TextIO, text: str) -> None:
    """Write it at once. When nobody reads any more (`mockvllm serve | head`) it goes nowhere and the server goes on."""
    try:
        stream.write(text)
        stream.flush()
    except BrokenPipeError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
