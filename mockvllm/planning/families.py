"""What each architecture knows about itself that its `config.json` does not say: data, one row a model type.

The rows follow the modules of Hugging Face Transformers and vLLM's model files of the same names.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal


@dataclass(frozen=True, slots=True)
class Flag:
    """A switch: the config's `key`, and what its absence means."""

    key: str = ""
    default: bool = False


NEVER = Flag()
ALWAYS = Flag(default=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """The defaults are Llama's."""

    norms: int = 2  # normalisations of the hidden state in a layer
    norm_vectors: int = 1  # 0: no weights, 1: weight, 2: weight and bias
    qk_norm: Literal["none", "head", "all"] = "none"  # one weight for every head, or one for each
    qk_norm_if: Flag = ALWAYS
    tied: bool = False
    qkv_bias: Flag = Flag("attention_bias")
    out_bias: Flag = Flag("attention_bias")
    mlp_bias: Flag = Flag("mlp_bias")
    lm_head_bias: Flag = NEVER
    gated_mlp: bool = True  # gate, up and down; otherwise up and down
    sinks: bool = False
    router_bias: bool = False  # where `topk_method` is not given
    expert_bias: bool = False
    expert_size: str = "moe_intermediate_size"
    dense_size: str = "intermediate_size"
    shared_experts: int = 0
    shared_gate: bool = False
    window_every: int = 1  # of so many layers the last attends to everything, the others to the window; 1: all slide
    learned_positions: str = ""  # the key that counts them
    embedding_norm: bool = False  # one more normalisation, of what the embedding gives
    defaults: Mapping[str, int] = field(default_factory=dict)  # Transformers' own, where published files leave keys out


def biased(key: str, default: bool) -> Family:
    """GPT-2's shape of block: two matrices, normalisations with a bias, and biases everywhere or nowhere."""
    flag = Flag(key, default)
    return Family(norm_vectors=2, gated_mlp=False, tied=True, qkv_bias=flag, out_bias=flag, mlp_bias=flag)


LLAMA = Family()
QWEN2 = Family(qkv_bias=ALWAYS, out_bias=NEVER)
QWEN3 = Family(qk_norm="head")
GEMMA = Family(tied=True, defaults={"head_dim": 256})
GEMMA3_DEFAULTS = {"num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 256, "vocab_size": 262208}
GEMMA3 = replace(GEMMA, norms=4, qk_norm="head", window_every=6, defaults=GEMMA3_DEFAULTS)
DEEPSEEK_V3 = Family(router_bias=True)
LLAMA4 = Family(expert_size="intermediate_size", dense_size="intermediate_size_mlp", shared_experts=1)
MIXTRAL = Family(expert_size="intermediate_size")
GPT2 = replace(biased("", True), learned_positions="n_positions")
GPTJ = Family(norms=1, norm_vectors=2, gated_mlp=False, mlp_bias=ALWAYS, lm_head_bias=ALWAYS)
ERNIE = Family(tied=True, qkv_bias=Flag("use_bias"), out_bias=Flag("use_bias"), mlp_bias=Flag("use_bias"))

FAMILIES: Mapping[str, Family] = {
    "baichuan": LLAMA,
    "bloom": replace(biased("", True), embedding_norm=True),
    "chatglm": Family(
        qkv_bias=Flag("add_qkv_bias"), out_bias=Flag("add_bias_linear"), mlp_bias=Flag("add_bias_linear")
    ),
    "codegen": GPTJ,
    "cohere": Family(norms=1, tied=True, qk_norm="all", qk_norm_if=Flag("use_qk_norm")),
    "cohere2": Family(norms=1, tied=True, window_every=4),
    "dbrx": LLAMA,
    "deepseek": LLAMA,
    "deepseek_v2": LLAMA,
    "deepseek_v3": DEEPSEEK_V3,
    "ernie4_5": ERNIE,
    "ernie4_5_moe": replace(ERNIE, router_bias=True),
    "exaone": LLAMA,
    "exaone4": Family(qk_norm="head"),
    "falcon": biased("bias", False),
    "gemma": GEMMA,
    "gemma2": replace(GEMMA, norms=4, window_every=2),
    "gemma3": GEMMA3,
    "gemma3_text": GEMMA3,
    "glm": Family(out_bias=NEVER),
    "glm4": Family(norms=4, out_bias=NEVER),
    "glm4_moe": Family(out_bias=NEVER, qk_norm="head", qk_norm_if=Flag("use_qk_norm"), router_bias=True),
    "gpt2": GPT2,
    "gpt_bigcode": GPT2,
    "gpt_neox": replace(biased("attention_bias", True), mlp_bias=ALWAYS, tied=False),
    "gptj": GPTJ,
    "gpt_oss": Family(
        qkv_bias=Flag("attention_bias", True),
        out_bias=Flag("attention_bias", True),
        sinks=True,
        router_bias=True,
        expert_bias=True,
        expert_size="intermediate_size",
        window_every=2,
        defaults={"head_dim": 64},
    ),
    "granite": LLAMA,
    "granitemoe": MIXTRAL,
    "internlm2": Family(qkv_bias=Flag("bias"), out_bias=Flag("bias")),
    "kimi_k2": DEEPSEEK_V3,
    "llama": LLAMA,
    "llama4": LLAMA4,
    "llama4_text": LLAMA4,
    "mistral": LLAMA,
    "mistral3": LLAMA,
    "mixtral": MIXTRAL,
    "mpt": Family(gated_mlp=False, tied=True),
    "nemotron": Family(norm_vectors=2, gated_mlp=False),
    "olmo": Family(norm_vectors=0),
    "olmo2": Family(qk_norm="all"),
    "olmo3": Family(qk_norm="all", window_every=4),
    "olmoe": Family(qk_norm="all", expert_size="intermediate_size"),
    "opt": replace(biased("enable_bias", True), learned_positions="positions"),
    "phi": replace(biased("", True), norms=1, tied=False, lm_head_bias=ALWAYS),
    "phi3": LLAMA,
    "phimoe": Family(norm_vectors=2, lm_head_bias=Flag("lm_head_bias"), expert_size="intermediate_size"),
    "qwen2": QWEN2,
    "qwen2_5_vl": QWEN2,
    "qwen2_moe": Family(qkv_bias=Flag("qkv_bias", True), out_bias=NEVER, shared_gate=True),
    "qwen2_vl": QWEN2,
    "qwen3": QWEN3,
    "qwen3_moe": QWEN3,
    "qwen3_vl": QWEN3,
    "qwen3_vl_moe": QWEN3,
    "seed_oss": Family(qkv_bias=Flag("attention_bias", True), out_bias=Flag("attention_out_bias")),
    "smollm3": Family(tied=True),
    "stablelm": Family(
        norm_vectors=2,
        qk_norm="all",
        qk_norm_if=Flag("qk_layernorm"),
        qkv_bias=Flag("use_qkv_bias"),
        out_bias=NEVER,
    ),
    "starcoder2": biased("use_bias", True),
}
