"""Model types whose `config.json` has its own key names: their values under the names that all others share."""

from collections.abc import Callable, Mapping

from mockvllm.planning.errors import InputError
from mockvllm.planning.hf_config import HFConfig

Values = dict[str, object]


def _gpt2(config: HFConfig) -> Values:
    width = config.positive("n_embd", "hidden_size")
    return {
        "hidden_size": width,
        "num_hidden_layers": config.positive("n_layer", "num_hidden_layers"),
        "num_attention_heads": config.positive("n_head", "num_attention_heads"),
        "intermediate_size": config.positive("n_inner", default=4 * width),
    }


def _gpt_bigcode(config: HFConfig) -> Values:
    values = _gpt2(config)
    heads = 1 if config.flag("multi_query", True) else values["num_attention_heads"]
    return {**values, "num_key_value_heads": heads}


def _falcon(config: HFConfig) -> Values:
    """Falcon 7B has one KV head and one normalisation; the later design has groups, and a norm for each branch."""
    width = config.positive("hidden_size", "n_embed")
    heads = config.positive("num_attention_heads", "n_head")
    grouped = config.flag("new_decoder_architecture")
    if grouped:
        kv_heads, norms = config.positive("num_kv_heads", "n_head_kv", default=heads), 2
        norms = config.positive("num_ln_in_parallel_attn", default=norms)
    else:
        kv_heads = 1 if config.flag("multi_query", True) else heads
        norms = 1 if config.flag("parallel_attn", True) else 2
    return {
        "hidden_size": width,
        "num_hidden_layers": config.positive("num_hidden_layers", "n_layer"),
        "num_attention_heads": heads,
        "num_key_value_heads": kv_heads,
        "intermediate_size": config.positive("ffn_hidden_size", default=4 * width),
        "norms_per_layer": norms,
    }


def _opt(config: HFConfig) -> Values:
    """OPT numbers its positions from 2."""
    width = config.positive("hidden_size")
    if config.positive("word_embed_proj_dim", default=width) != width:
        raise InputError(f"{config.source}: word_embed_proj_dim other than hidden_size is not understood")
    return {
        "intermediate_size": config.positive("ffn_dim"),
        "positions": config.positive("max_position_embeddings") + 2,
    }


_TRANSLATIONS: Mapping[str, Callable[[HFConfig], Values]] = {
    "gpt2": _gpt2,
    "gpt_bigcode": _gpt_bigcode,
    "falcon": _falcon,
    "opt": _opt,
}


def translate(model_type: str, config: HFConfig) -> HFConfig:
    """`config` itself, or with the shared names beside its own."""
    translation = _TRANSLATIONS.get(model_type)
    return config.over(translation(config)) if translation else config
