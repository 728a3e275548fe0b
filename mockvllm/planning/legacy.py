"""Model types whose `config.json` has its own key names: their values under the names that all others share."""

from collections.abc import Callable, Mapping

from mockvllm.planning.errors import InputError
from mockvllm.planning.hf_config import HFConfig

Values = dict[str, object]


def _gpt2(config: HFConfig) -> Values:
    width = config.positive("n_embd", "hidden_size")
    return {
        **_layers_and_heads(config),
        "hidden_size": width,
        "intermediate_size": config.positive("n_inner", default=4 * width),
    }


def _layers_and_heads(config: HFConfig) -> Values:
    return {
        "num_hidden_layers": config.positive("n_layer", "num_hidden_layers"),
        "num_attention_heads": config.positive("n_head", "num_attention_heads"),
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


def _bloom(config: HFConfig) -> Values:
    width = config.positive("hidden_size", "n_embed")
    return {**_layers_and_heads(config), "hidden_size": width, "intermediate_size": 4 * width}


def _mpt(config: HFConfig) -> Values:
    """The published ones have no biases, and no positions to learn (ALiBi)."""
    if not config.flag("no_bias", True):
        raise InputError(f"{config.source}: no_bias false is not understood")
    width, attention = config.positive("d_model"), config.section("attn_config")
    heads = config.positive("n_heads")
    return {
        "hidden_size": width,
        "num_hidden_layers": config.positive("n_layers"),
        "num_attention_heads": heads,
        "num_key_value_heads": attention.positive("kv_n_heads", default=heads) if attention else heads,
        "intermediate_size": config.positive("expansion_ratio", default=4) * width,
    }


def _dbrx(config: HFConfig) -> Values:
    attention, ffn = (config.section(name) or HFConfig({}, name) for name in ("attn_config", "ffn_config"))
    return {
        "hidden_size": config.positive("d_model"),
        "num_hidden_layers": config.positive("n_layers"),
        "num_attention_heads": config.positive("n_heads"),
        "num_key_value_heads": attention.positive("kv_n_heads"),
        "num_experts": ffn.positive("moe_num_experts"),
        "num_experts_per_tok": ffn.positive("moe_top_k"),
        "moe_intermediate_size": ffn.positive("ffn_hidden_size"),
    }


def _chatglm(config: HFConfig) -> Values:
    heads = config.positive("num_attention_heads")
    grouped = config.flag("multi_query_attention")
    return {
        "num_hidden_layers": config.positive("num_layers"),
        "num_key_value_heads": config.positive("multi_query_group_num") if grouped else heads,
        "head_dim": config.positive("kv_channels"),
        "intermediate_size": config.positive("ffn_hidden_size"),
        "vocab_size": config.positive("padded_vocab_size", "vocab_size"),
    }


def _exaone(config: HFConfig) -> Values:
    return {"num_hidden_layers": config.positive("num_layers", "num_hidden_layers")}


def _ernie_moe(config: HFConfig) -> Values:
    return {
        "num_experts": config.positive("moe_num_experts"),
        "num_experts_per_tok": config.positive("moe_k"),
        "n_shared_experts": config.count("moe_num_shared_experts"),
        "first_k_dense_replace": config.count("moe_layer_start_index"),
        "decoder_sparse_step": config.positive("moe_layer_interval", default=1),
    }


def _stablelm(config: HFConfig) -> Values:
    """Attention and MLP side by side share a normalisation."""
    return {"norms_per_layer": 1 if config.flag("use_parallel_residual") else 2}


_TRANSLATIONS: Mapping[str, Callable[[HFConfig], Values]] = {
    "bloom": _bloom,
    "chatglm": _chatglm,
    "codegen": _gpt2,
    "dbrx": _dbrx,
    "ernie4_5_moe": _ernie_moe,
    "exaone": _exaone,
    "falcon": _falcon,
    "gpt2": _gpt2,
    "gpt_bigcode": _gpt_bigcode,
    "gptj": _gpt2,
    "mpt": _mpt,
    "opt": _opt,
    "stablelm": _stablelm,
}


def translate(model_type: str, config: HFConfig) -> HFConfig:
    """`config` itself, or with the shared names beside its own."""
    translation = _TRANSLATIONS.get(model_type)
    return config.over(translation(config)) if translation else config
