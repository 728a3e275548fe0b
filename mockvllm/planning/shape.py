"""The shape of a model: every dimension that its parameters and its KV cache are counted from."""

from dataclasses import dataclass, replace

from mockvllm.planning.architecture import model_type, text_model
from mockvllm.planning.errors import InputError
from mockvllm.planning.families import FAMILIES, Family, Flag
from mockvllm.planning.hf_config import HFConfig
from mockvllm.planning.legacy import translate
from mockvllm.planning.mixture import Experts, read_experts
from mockvllm.planning.windows import read_window

MOST_LAYERS = 10_000  # each is looked at


@dataclass(frozen=True, slots=True)
class Latent:
    """Multi-head latent attention (DeepSeek V2 and V3): ranks of the projections, dimensions of a head."""

    query_rank: int  # 0: queries are projected in one step
    kv_rank: int
    nope: int
    rope: int
    value: int


@dataclass(frozen=True, slots=True)
class Shape:
    """`sliding_layers` of the `layers` attend to the last `window` tokens only."""

    family: Family
    hidden: int
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    dense_size: int
    vocab: int
    tied: bool
    positions: int
    qk_norm: bool
    qkv_bias: bool
    out_bias: bool
    mlp_bias: bool
    lm_head_bias: bool
    latent: Latent | None
    experts: Experts | None
    sliding_layers: int
    window: int

    @property
    def dense_layers(self) -> int:
        return self.layers - (self.experts.layers if self.experts else 0)


def read_shape(config: HFConfig, assume_as: str = "") -> Shape:
    """The shape behind a `config.json`. `assume_as`: the model type as which an unknown architecture is counted.

    Raises InputError for an unknown architecture and for missing or impossible values. What the config leaves open is
    filled with Transformers' default and said in `config.assumed`.
    """
    kind = model_type(config, assume_as)
    values = translate(kind, text_model(config))
    family = FAMILIES[kind]
    family = replace(family, norms=values.positive("norms_per_layer", default=family.norms))
    if values.has("attention_chunk_size"):
        config.assume("attention_chunk_size: the KV cache is counted as if every layer kept all tokens")
    if values.count("num_nextn_predict_layers"):
        config.assume(
            "the next-token module (num_nextn_predict_layers) is not counted: vLLM loads it to speculate only"
        )
    return _shape(values, family)


def _shape(config: HFConfig, family: Family) -> Shape:
    layers = config.positive("num_hidden_layers")
    if layers > MOST_LAYERS:
        raise InputError(f"{config.source}: num_hidden_layers {layers} is more than the {MOST_LAYERS} that are counted")
    heads, kv_heads, head_dim = _heads(config, family)
    experts = read_experts(config, family, layers)
    sliding_layers, window = read_window(config, family, layers)

    def has(flag: Flag) -> bool:
        return config.flag(flag.key, flag.default) if flag.key else flag.default

    return Shape(
        family=family,
        hidden=config.positive("hidden_size"),
        layers=layers,
        heads=heads,
        kv_heads=kv_heads,
        head_dim=head_dim,
        dense_size=_dense_size(config, family, layers, experts),
        vocab=_with_default(config, family, "vocab_size"),
        tied=_tied(config, family),
        positions=config.positive(family.learned_positions) if family.learned_positions else 0,
        qk_norm=family.qk_norm != "none" and has(family.qk_norm_if),
        qkv_bias=has(family.qkv_bias),
        out_bias=has(family.out_bias),
        mlp_bias=has(family.mlp_bias),
        lm_head_bias=has(family.lm_head_bias),
        latent=_latent(config),
        experts=experts,
        sliding_layers=sliding_layers,
        window=window,
    )


def _with_default(config: HFConfig, family: Family, name: str) -> int:
    default = family.defaults.get(name)
    if default is not None and not config.has(name):
        config.assume(f"{name} is not given: {default}, the architecture's default")
    return config.positive(name, default=default)


def _heads(config: HFConfig, family: Family) -> tuple[int, int, int]:
    heads = _with_default(config, family, "num_attention_heads")
    if "num_key_value_heads" not in family.defaults and not config.has("num_key_value_heads"):
        family = replace(family, defaults={**family.defaults, "num_key_value_heads": heads})
    kv_heads = _with_default(config, family, "num_key_value_heads")
    if heads % kv_heads:
        raise InputError(
            f"{config.source}: num_attention_heads {heads} is no multiple of num_key_value_heads {kv_heads}"
        )
    return heads, kv_heads, _head_dim(config, family, heads)


def _head_dim(config: HFConfig, family: Family, heads: int) -> int:
    if config.has("head_dim") or "head_dim" in family.defaults:
        return _with_default(config, family, "head_dim")
    hidden = config.positive("hidden_size")
    if hidden % heads and not config.has("kv_lora_rank"):
        raise InputError(
            f"{config.source}: hidden_size {hidden} is no multiple of num_attention_heads {heads}: give head_dim"
        )
    return hidden // heads


def _tied(config: HFConfig, family: Family) -> bool:
    if not config.has("tie_word_embeddings"):
        config.assume(f"tie_word_embeddings is not given: {str(family.tied).lower()}, the architecture's default")
    return config.flag("tie_word_embeddings", family.tied)


def _latent(config: HFConfig) -> Latent | None:
    if not config.has("kv_lora_rank"):
        return None
    return Latent(
        query_rank=config.count("q_lora_rank"),
        kv_rank=config.positive("kv_lora_rank"),
        nope=config.positive("qk_nope_head_dim"),
        rope=config.positive("qk_rope_head_dim"),
        value=config.positive("v_head_dim"),
    )


def _dense_size(config: HFConfig, family: Family, layers: int, experts: Experts | None) -> int:
    """Zero where no layer is dense: such configs may leave the key out."""
    return config.positive(family.dense_size) if experts is None or experts.layers < layers else 0
