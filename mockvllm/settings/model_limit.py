"""How long a context the model's own config.json allows (vLLM's `_get_and_verify_max_len`, the common cases)."""

import json
import os
from collections.abc import Mapping
from typing import Any

from mockvllm.settings.errors import SettingsError
from mockvllm.settings.record import Settings

LENGTH_KEYS = (
    "max_position_embeddings",
    "n_positions",
    "max_seq_len",
    "seq_length",
    "model_max_length",
    "max_sequence_length",
    "max_seq_length",
    "seq_len",
)
UNSCALED = frozenset(("default", "su", "longrope", "llama3", "mrope"))


def model_limit(settings: Settings) -> int | None:
    """Tokens of a context by `--hf-config-path`, or by MODEL when that is a directory here; None without either.

    Raises SettingsError for a config.json that is not there (`--hf-config-path`) or cannot be read.
    """
    file = f"{settings.hf_config_path or settings.model}/config.json"
    if settings.hf_config_path is None and not os.access(file, os.R_OK):
        return None
    from pathlib import Path  # only who has such a file pays for the import

    try:
        config = json.loads(Path(file).read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise SettingsError(f"{file}: no readable config.json ({error})") from None
    return length_of(config) if isinstance(config, dict) else None


def length_of(config: Mapping[str, Any]) -> int | None:
    """The smallest length a config states, stretched by its rotary scaling."""
    config = config.get("text_config") or config
    lengths: list[int] = [config[key] for key in LENGTH_KEYS if isinstance(config.get(key), int)]
    if not lengths:
        return None
    rope = config.get("rope_scaling") or config.get("rope_parameters") or {}
    kind = rope.get("rope_type") or rope.get("type") or "default"
    if kind in UNSCALED or not isinstance(rope.get("factor"), int | float):
        return min(lengths)
    base = rope.get("original_max_position_embeddings") if kind == "yarn" else None
    return int((base or min(lengths)) * rope["factor"])
