"""The short way to a simulated result, by flags or by objects."""

import json
from collections.abc import Mapping
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from typing import Any, NamedTuple

import pytest

from mockvllm.cli.main import main
from mockvllm.engine import SchedulerConfig

REFERENCE: Mapping[str, Any] = {
    "num_gpu_blocks": 13_046,
    "max_num_seqs": 128,
    "max_num_batched_tokens": 8192,
    "enable_prefix_caching": False,
}


class Run(NamedTuple):
    """What a command left behind."""

    status: int
    out: str
    err: str


def run(*words: object) -> Run:
    """`mockvllm simulate WORDS`, in this process."""
    out, err = StringIO(), StringIO()
    with redirect_stdout(out), redirect_stderr(err), pytest.raises(SystemExit) as end:
        main(["simulate", *map(str, words)])
    return Run(int(end.value.code or 0), out.getvalue(), err.getvalue())


def simulate(*words: object) -> dict[str, Any]:
    """Its JSON; it must succeed."""
    done = run(*words, "--json")
    assert (done.status, done.err) == (0, "")
    result: dict[str, Any] = json.loads(done.out)
    return result


def refused(*words: object) -> str:
    """The one line with which it exits 2."""
    done = run(*words)
    assert (done.status, done.out) == (2, "")
    assert done.err.count("\n") == 1
    return done.err.strip()


def reference(**changes: Any) -> SchedulerConfig:
    return SchedulerConfig(**{**REFERENCE, **changes})
