"""Mixtures of experts: which layers are some, and how wide."""

from dataclasses import dataclass

from mockvllm.planning.errors import InputError
from mockvllm.planning.families import Family
from mockvllm.planning.hf_config import HFConfig


@dataclass(frozen=True, slots=True)
class Experts:
    """The mixture layers. `shared_size` is the width of all shared experts together."""

    layers: int
    number: int
    per_token: int
    size: int
    shared_size: int
    router_bias: bool


def read_experts(config: HFConfig, family: Family, layers: int) -> Experts | None:
    """None for a dense model. Raises InputError for missing or impossible values."""
    number = config.count("n_routed_experts", "num_local_experts", "num_experts")
    sparse = _sparse_layers(config, layers)
    if not number or not sparse:
        return None
    per_token = config.positive("num_experts_per_tok", "num_experts_per_token", "experts_per_token")
    if per_token > number:
        raise InputError(f"{config.source}: num_experts_per_tok {per_token} is more than the {number} experts")
    size = config.positive(family.expert_size)
    topk_method = config.text("topk_method")
    return Experts(
        layers=sparse,
        number=number,
        per_token=per_token,
        size=size,
        shared_size=_shared_size(config, family, size),
        router_bias=topk_method == "noaux_tc" if topk_method else family.router_bias,
    )


def _sparse_layers(config: HFConfig, layers: int) -> int:
    """How many layers are mixtures: the keys of DeepSeek, Qwen and Llama 4 each leave some of them dense."""
    first = config.count("first_k_dense_replace")
    every = config.positive("moe_layer_freq", default=1)
    step = config.positive("decoder_sparse_step", "interleave_moe_layer_step", default=1)
    dense = set(config.integers("mlp_only_layers"))
    return sum(i >= first and i % every == 0 and (i + 1) % step == 0 and i not in dense for i in range(layers))


def _shared_size(config: HFConfig, family: Family, size: int) -> int:
    if config.has("shared_expert_intermediate_size"):
        return config.count("shared_expert_intermediate_size")
    return config.count("n_shared_experts", default=family.shared_experts) * size
