"""The shape of vLLM's log lines: `(APIServer pid=7) INFO 11-29 16:09:28 [startup.py:38] message`."""

import logging
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Self, TextIO

from mockvllm.settings import Environment, Settings

RESET = "\033[0m"
GREY = "\033[90m"
PROCESS = "\033[1;36m"
LEVELS = {
    "DEBUG": "\033[37m",
    "INFO": "\033[32m",
    "WARNING": "\033[33m",
    "ERROR": "\033[31m",
    "CRITICAL": "\033[35m",
}


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
    color: bool = False
    pid: int = field(default_factory=os.getpid)

    @classmethod
    def of(cls, settings: Settings, environment: Environment, is_terminal: bool = False) -> Self:
        """As flags and environment say: `--log-level` wins over VLLM_LOGGING_LEVEL, colours are for terminals."""
        level = settings.log_level or environment.VLLM_LOGGING_LEVEL
        wanted = {"0": False, "1": True}.get(environment.VLLM_LOGGING_COLOR, is_terminal)
        return cls(
            environment.VLLM_LOGGING_PREFIX,
            level if environment.VLLM_CONFIGURE_LOGGING else None,
            wanted and not environment.NO_COLOR,
        )

    def lines(self, record: Record, when: datetime) -> Iterator[str]:
        """The lines of a record; each begins with all that precedes the message. None below the level."""
        if self.level is None or _severity(record.level) < _severity(self.level):
            return
        process = self._painted(PROCESS, f"({record.process} pid={self.pid})")
        level = self._painted(LEVELS.get(record.level, ""), record.level)
        time, source = (self._painted(GREY, text) for text in (f"{when:%m-%d %H:%M:%S}", f"[{record.source}]"))
        for line in record.message.split("\n"):
            yield f"{process} {self.prefix}{level} {time} {source} {line}"

    def _painted(self, color: str, text: str) -> str:
        return f"{color}{text}{RESET}" if self.color else text


def stream_of(environment: Environment) -> TextIO:
    """Where vLLM's lines go: VLLM_LOGGING_STREAM, `ext://sys.stdout` unless it says stderr."""
    return sys.stderr if environment.VLLM_LOGGING_STREAM == "ext://sys.stderr" else sys.stdout


def _severity(level: str) -> int:
    return logging.getLevelNamesMapping()[level]
