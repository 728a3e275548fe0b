"""The progress bar is for terminals, and on standard error."""

import io
import sys

import pytest

from mockvllm.cli.progress import progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_nobody_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with progress(10) as told:
        assert told is None
    assert sys.stderr.getvalue() == ""  # type: ignore[attr-defined]


def test_a_terminal_sees_how_many_are_done(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    with progress(10) as told:
        assert told is not None
        told(10)
    assert "10/10" in terminal.getvalue()
