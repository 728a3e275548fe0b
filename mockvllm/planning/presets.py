"""Models known by name: the figures of their published config.json."""

import json
from functools import cache
from pathlib import Path

from mockvllm.planning.errors import InputError
from mockvllm.planning.hf_config import HFConfig, read_config


@cache
def presets() -> dict[str, HFConfig]:
    """Every preset by its name, such as `llama-3.1-8b`."""
    lines = Path(__file__).with_name("presets.jsonl").read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    return {row["name"]: HFConfig(row["config"], row["name"]) for row in rows}


def find_config(name: str, flag: str) -> HFConfig:
    """A preset by its name, in any case, else the config.json at that path or in that directory. Raises InputError."""
    known = presets().get(name.lower())
    if known is not None:
        return known
    path = Path(name)
    file = path / "config.json" if path.is_dir() else path
    if not file.exists():
        raise InputError(f"{flag} {name}: no such file, and none of the models {', '.join(presets())}")
    return read_config(file)
