"""`mockvllm lesson WORDS`, in this process."""

import json
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from typing import Any, NamedTuple

import pytest

from mockvllm.cli.main import main


class Run(NamedTuple):
    """What a command left behind."""

    status: int
    out: str
    err: str


def run(*words: object) -> Run:
    out, err = StringIO(), StringIO()
    with redirect_stdout(out), redirect_stderr(err), pytest.raises(SystemExit) as end:
        main(["lesson", *map(str, words)])
    return Run(int(end.value.code or 0), out.getvalue(), err.getvalue())


def show(*words: object) -> Any:
    """The JSON of a lesson that must succeed."""
    done = run(*words, "--json")
    assert (done.status, done.err) == (0, "")
    return json.loads(done.out)
