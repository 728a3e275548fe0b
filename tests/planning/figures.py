"""Recorded and published figures, and the short way to a count."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

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
