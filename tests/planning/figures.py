"""Recorded and published figures, and the short way to a count, and to what a command says."""

import json
from collections.abc import Mapping
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from mockvllm.cli.main import main
from mockvllm.planning.hf_config import HFConfig
from mockvllm.planning.parameters import Parameters, count_parameters
from mockvllm.planning.shape import Shape, read_shape

DATA = Path(__file__).parent.parent / "data" / "planning"


def read(name: str) -> Any:
    return json.loads((DATA / name).read_text("utf-8"))


def shape(values: Mapping[str, object], assume_as: str = "") -> Shape:
    return read_shape(HFConfig(values), assume_as)


def count(values: Mapping[str, object], assume_as: str = "") -> Parameters:
    return count_parameters(shape(values, assume_as))


LLAMA_70B: dict[str, Any] = read("models.json")["llama-3.3-70b"]["config"]


class Run(NamedTuple):
    """What a command left behind."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def run(*words: object) -> Run:
    """`mockvllm WORDS`, in this process."""
    out, err = StringIO(), StringIO()
    with redirect_stdout(out), redirect_stderr(err), pytest.raises(SystemExit) as end:
        main([str(word) for word in words])
    return Run(int(end.value.code or 0), out.getvalue(), err.getvalue())


def show(*words: object) -> Any:
    """The JSON of a command that must succeed."""
    done = run(*words, "--json")
    assert (done.status, done.err) == (0, "")
    return done.json


def refusal(*words: object) -> str:
    """The one line of a command that must refuse its input."""
    done = run(*words)
    assert (done.status, done.out) == (2, "")
    assert done.err.count("\n") == 1
    return done.err
