"""Sliding windows: how many layers attend to the last tokens only, and to how many."""

from mockvllm.planning.errors import InputError
from mockvllm.planning.families import Family
from mockvllm.planning.hf_config import HFConfig


def read_window(config: HFConfig, family: Family, layers: int) -> tuple[int, int]:
    """(sliding layers, window in tokens), zeros where there are none. Raises InputError for impossible values."""
    if not config.has("sliding_window") or not config.flag("use_sliding_window", True):
        return 0, 0
    return _sliding_layers(config, family, layers), config.positive("sliding_window")


def _sliding_layers(config: HFConfig, family: Family, layers: int) -> int:
    kinds = config.strings("layer_types")
    if kinds:
        if len(kinds) != layers:
            raise InputError(f"{config.source}: layer_types names {len(kinds)} layers, num_hidden_layers is {layers}")
        return kinds.count("sliding_attention")
    if config.has("use_sliding_window"):  # Qwen: the layers from max_window_layers on slide
        return max(0, layers - config.count("max_window_layers"))
    every = config.positive("sliding_window_pattern", "_sliding_window_pattern", default=family.window_every)
    return layers if every == 1 else layers - layers // every
