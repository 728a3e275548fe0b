"""The shape of vLLM's log lines: `(APIServer pid=7) INFO 11-29 16:09:28 [startup.py:38] message`."""

import logging
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Self, TextIO

from mockvllm.settings import Environment, Settings


@dataclass(frozen=True, slots=True)
class Record:
    """One message, of one line or several. `process` is `APIServer` or `EngineCore`, `source` file and line."""

    process: str
    level: str
    source: str
    message: str


@dataclass(frozen=True, slots=True)
class LogFormat:
    """`prefix` is VLLM_LOGGING_PREFIX; `level` is the least that is printed, None for nothing at all."""

    prefix: str = ""
    level: str | None = "INFO"
    pid: int = field(default_factory=os.getpid)

    @classmethod
    def of(cls, settings: Settings, environment: Environment) -> Self:
        """As flags and environment say: `--log-level` wins over VLLM_LOGGING_LEVEL."""
        level = settings.log_level or environment.VLLM_LOGGING_LEVEL
        return cls(environment.VLLM_LOGGING_PREFIX, level if environment.VLLM_CONFIGURE_LOGGING else None)

    def lines(self, record: Record, when: datetime) -> Iterator[str]:
        """The lines of a record; each begins with all that precedes the message. None below the level."""
        if self.level is None or _severity(record.level) < _severity(self.level):
            return
        head = f"({record.process} pid={self.pid}) {self.prefix}{record.level} {when:%m-%d %H:%M:%S} [{record.source}]"
        for line in record.message.split("\n"):
            yield f"{head} {line}"


def stream_of(environment: Environment) -> TextIO:
    """Where vLLM's lines go: VLLM_LOGGING_STREAM, `ext://sys.stdout` unless it says stderr."""
    return sys.stderr if environment.VLLM_LOGGING_STREAM == "ext://sys.stderr" else sys.stdout


def _severity(level: str) -> int:
    number = logging.getLevelNamesMapping().get(level)
    return logging.INFO if number is None else number
