"""The model that planning and step times reckon with."""

from pathlib import Path
from typing import TYPE_CHECKING

from mockvllm.settings.record import Settings

if TYPE_CHECKING:
    from mockvllm.planning.hf_config import HFConfig
    from mockvllm.planning.model import Model


def model_of(settings: Settings) -> "Model":
    """`--step-time-model`, else the model's own config.json, else the reference model. Raises InputError for what
    cannot be read."""
    from mockvllm.planning.model import read_model, reference_model
    from mockvllm.planning.presets import find_config

    if settings.step_time_model:
        return read_model(find_config(settings.step_time_model, "--step-time-model"))
    config = own_config(settings)
    return reference_model() if config is None else read_model(config)


def own_config(settings: Settings) -> "HFConfig | None":
    """The model's config.json (`--hf-config-path`, or MODEL where that is a directory). Raises InputError for what
    cannot be read."""
    from mockvllm.planning.presets import find_config

    for directory, flag in ((settings.hf_config_path, "--hf-config-path"), (settings.model, "MODEL")):
        if directory and Path(directory, "config.json").is_file():
            return find_config(directory, flag)
    return None
