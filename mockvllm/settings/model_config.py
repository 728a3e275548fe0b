"""The model that planning and step times reckon with."""

from pathlib import Path
from typing import TYPE_CHECKING

from mockvllm.settings.record import Settings

if TYPE_CHECKING:
    from mockvllm.planning.model import Model


def model_of(settings: Settings) -> "Model":
    """`--step-time-model`, else the model's own config.json (`--hf-config-path`, or MODEL where that is a directory),
    else the reference model. Raises InputError for what cannot be read."""
    from mockvllm.planning.model import read_model, reference_model
    from mockvllm.planning.presets import find_config

    if settings.step_time_model:
        return read_model(find_config(settings.step_time_model, "--step-time-model"))
    for directory, flag in ((settings.hf_config_path, "--hf-config-path"), (settings.model, "MODEL")):
        if directory and Path(directory, "config.json").is_file():
            return read_model(find_config(directory, flag))
    return reference_model()
