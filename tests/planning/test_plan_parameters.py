"""Parameter counts: known ones to the last digit, and rules that hold for any dimensions.

`models.json` was given with its counts. Those of `published.json` are written down by hand, dimensions and count, and
were not fetched from the model cards again; that of Qwen2-57B-A14B is the sum of its printed modules. Families that
appear in neither file are only checked to be readable.
"""

from typing import Any

import pytest
from figures import LLAMA_70B, count, read, shape
from hypothesis import given
from hypothesis import strategies as st

from mockvllm.planning.errors import InputError
from mockvllm.planning.families import FAMILIES
from mockvllm.planning.hf_config import HFConfig
from mockvllm.planning.shape import read_shape

RECORDED = read("models.json") | read("published.json")
sizes = st.integers(1, 64)


@pytest.mark.parametrize("name", RECORDED)
def test_counts_equal_the_published_ones(name: str) -> None:
    assert count(RECORDED[name]["config"]).total == RECORDED[name]["parameters"]


@pytest.mark.parametrize(
    ("name", "active"),
    [("mixtral-8x7b", 12.9e9), ("deepseek-v3", 37.6e9), ("Qwen3-30B-A3B", 3.35e9), ("gpt-oss-120b", 5.7e9)],
)
def test_a_token_passes_through_its_own_experts_only(name: str, active: float) -> None:
    """The figures are those of the model cards, which round and count the embedding differently: within 2 %."""
    assert count(RECORDED[name]["config"]).active == pytest.approx(active, rel=0.02)


def test_a_dense_model_is_active_as_a_whole() -> None:
    parameters = count(LLAMA_70B)
    assert parameters.active == parameters.total == 70_553_706_496
    assert parameters.embedding + parameters.lm_head == 2 * 128256 * 8192


@given(
    hidden_heads=sizes,
    head_dim=sizes,
    kv=st.integers(1, 4),
    group=st.integers(1, 8),
    layers=sizes,
    ffn=sizes,
    vocab=sizes,
)
def test_llama_is_the_pocket_formula(
    hidden_heads: int, head_dim: int, kv: int, group: int, layers: int, ffn: int, vocab: int
) -> None:
    heads = kv * group
    d = hidden_heads * heads
    config = {**LLAMA_70B, "hidden_size": d, "num_hidden_layers": layers, "num_attention_heads": heads,
              "num_key_value_heads": kv, "head_dim": head_dim,
              "intermediate_size": ffn, "vocab_size": vocab}  # fmt: skip
    q, k = heads * head_dim, kv * head_dim
    body = layers * (2 * d * q + 2 * d * k + 3 * d * ffn + 2 * d) + d
    assert count({**config, "tie_word_embeddings": False}).total == body + 2 * vocab * d
    assert count({**config, "tie_word_embeddings": True}).total == body + vocab * d
    biased = count({**config, "tie_word_embeddings": True, "attention_bias": True, "mlp_bias": True})
    assert biased.biases == layers * (q + 2 * k + d + 2 * ffn + d)


@given(dense=st.integers(0, 6), moe=st.integers(1, 6), experts=st.integers(2, 9), shared=st.integers(0, 3), size=sizes)
def test_deepseek_mixes_dense_and_sparse_layers(dense: int, moe: int, experts: int, shared: int, size: int) -> None:
    config = {**RECORDED["DeepSeek-V2-Lite"]["config"], "num_hidden_layers": dense + moe, "num_experts_per_tok": 1,
              "first_k_dense_replace": dense, "n_routed_experts": experts, "n_shared_experts": shared,
              "moe_intermediate_size": size}  # fmt: skip
    d = config["hidden_size"]
    parameters = count(config)
    assert parameters.experts == moe * experts * 3 * d * size
    assert parameters.active_experts == moe * 3 * d * size
    assert parameters.mlp == dense * 3 * d * config["intermediate_size"] + moe * shared * 3 * d * size
    assert parameters.router == moe * experts * d


@given(layers=st.integers(1, 40), step=st.integers(1, 5), dense=st.sets(st.integers(0, 39), max_size=5))
def test_qwen_leaves_named_layers_dense(layers: int, step: int, dense: set[int]) -> None:
    config = {**RECORDED["Qwen3-30B-A3B"]["config"], "num_hidden_layers": layers, "decoder_sparse_step": step,
              "mlp_only_layers": sorted(dense)}  # fmt: skip
    experts = shape(config).experts
    sparse = [i for i in range(layers) if (i + 1) % step == 0 and i not in dense]
    assert (experts.layers if experts else 0) == len(sparse)


@pytest.mark.parametrize("model_type", sorted(FAMILIES))
def test_every_family_can_be_read(model_type: str) -> None:
    """One config with the keys of all: each row of the table counts it, and more layers count more."""
    everything: dict[str, Any] = {
        **LLAMA_70B, "model_type": model_type, "intermediate_size_mlp": 32, "n_embd": 64, "n_layer": 2, "n_head": 4,
        "n_positions": 128, "ffn_dim": 256, "hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2,
        "head_dim": 16, "max_position_embeddings": 128, "d_model": 64, "n_heads": 4, "kv_channels": 16,
        "padded_vocab_size": 512, "ffn_hidden_size": 128, "moe_num_experts": 4, "moe_k": 2, "moe_intermediate_size": 32,
        "attn_config": {"kv_n_heads": 2}, "ffn_config": {"moe_num_experts": 4, "moe_top_k": 2, "ffn_hidden_size": 32},
    }  # fmt: skip
    depth = ("num_hidden_layers", "n_layer", "n_layers", "num_layers")
    one = count({**everything, **dict.fromkeys(depth, 1)})
    three = count({**everything, **dict.fromkeys(depth, 3)})
    assert (three.total - one.total) % 2 == 0
    assert three.total > one.total > 0


@pytest.mark.parametrize(
    ("name", "sliding"),
    [("gemma-2-9b", 21), ("gpt-oss-20b", 12), ("gemma-3-1b-pt", 22), ("Mistral-7B-v0.1", 32), ("qwen2.5-7b", 0)],
)
def test_which_layers_slide(name: str, sliding: int) -> None:
    assert shape(RECORDED[name]["config"]).sliding_layers == sliding


def test_stablelm_12b_shares_a_norm_and_has_one_for_every_head() -> None:
    """The modules that Transformers makes of it."""
    config = {**RECORDED["stablelm-3b-4e1t"]["config"], "hidden_size": 5120, "num_hidden_layers": 40,
              "num_key_value_heads": 8, "use_parallel_residual": True, "qk_layernorm": True}  # fmt: skip
    assert count(config).norms == 40 * (2 * 5120 + (32 + 8) * 160) + 2 * 5120
    plain = count({**config, "use_parallel_residual": False, "qk_layernorm": False})
    assert plain.norms == 40 * 4 * 5120 + 2 * 5120


def test_ernie_has_dense_layers_before_its_mixtures() -> None:
    config = RECORDED["ERNIE-4.5-21B-A3B"]["config"]
    experts = shape(config).experts
    assert experts is not None
    assert (experts.layers, experts.number, experts.per_token, experts.shared_size) == (27, 64, 6, 2 * 1536)


def test_qwen_slides_from_a_layer_on() -> None:
    config = {**RECORDED["qwen2.5-7b"]["config"], "use_sliding_window": True, "max_window_layers": 21}
    assert (shape(config).sliding_layers, shape(config).window) == (7, 131072)


@pytest.mark.parametrize(
    ("architectures", "model_type"),
    [("Qwen2MoeForCausalLM", "qwen2_moe"), ("GptOssForCausalLM", "gpt_oss"), ("GPT2LMHeadModel", "gpt2")],
)
def test_the_class_names_the_architecture_where_the_type_is_missing(architectures: str, model_type: str) -> None:
    name = {"qwen2_moe": "Qwen1.5-MoE-A2.7B", "gpt_oss": "gpt-oss-120b", "gpt2": "gpt2"}[model_type]
    config = {**RECORDED[name]["config"], "model_type": None, "architectures": [architectures]}
    assert count(config).total == RECORDED[name]["parameters"]


def test_of_a_multimodal_model_the_language_model_is_counted() -> None:
    config = HFConfig({"model_type": "gemma3", "vision_config": {"hidden_size": 1152}, "text_config": {
        "model_type": "gemma3_text", "hidden_size": 2560, "intermediate_size": 10240, "num_hidden_layers": 34,
        "sliding_window": 1024}})  # fmt: skip
    parameters = count(config.values)
    whole, tower, projector = 4_300_079_472, 416_866_032, 2_950_272  # Gemma 3 4B, whose file leaves most keys out
    assert parameters.total == whole - tower - projector
    read_shape(config)
    assert any("vision_config" in text for text in config.assumed)
    assert any("num_attention_heads is not given: 8" in text for text in config.assumed)


def test_an_unknown_architecture_is_refused_or_counted_as_told() -> None:
    unknown = {**LLAMA_70B, "model_type": "zebra", "architectures": ["ZebraForCausalLM"]}
    with pytest.raises(InputError, match="unknown architecture zebra, ZebraForCausalLM"):
        count(unknown)
    config = HFConfig(unknown)
    assert read_shape(config, "llama").layers == 80
    assert config.assumed == ["the architecture zebra, ZebraForCausalLM is counted as llama"]
    with pytest.raises(InputError, match="--assume-architecture lama"):
        count(unknown, "lama")


def test_a_config_that_names_no_architecture_is_assumed_to_be_llama() -> None:
    config = HFConfig({key: value for key, value in LLAMA_70B.items() if key not in ("model_type", "architectures")})
    read_shape(config)
    assert config.assumed == ["no architecture is named: it is counted as llama"]


@pytest.mark.parametrize(
    "key", ["hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size", "vocab_size"]
)
@pytest.mark.parametrize("value", [None, 0, -8, float("nan"), float("inf"), 1.5, True, "8192", [8192]])
def test_impossible_values_are_named(key: str, value: object) -> None:
    with pytest.raises(InputError, match=f"config.json: {key} (is missing|must be a (positive )?whole number, not )"):
        count({**LLAMA_70B, key: value})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"num_key_value_heads": 7}, "num_attention_heads 64 is no multiple of num_key_value_heads 7"),
        ({"num_attention_heads": 24}, "hidden_size 8192 is no multiple of num_attention_heads 24"),
        ({"tie_word_embeddings": "no"}, "tie_word_embeddings must be true or false, not 'no'"),
        ({"sliding_window": 4, "layer_types": ["full_attention"]}, "names 1 layers, num_hidden_layers is 80"),
        ({"num_local_experts": 4, "num_experts_per_tok": 5}, "num_experts_per_tok 5 is more than the 4 experts"),
        ({"num_local_experts": -4}, "num_local_experts must not be negative, but is -4"),
        ({"num_experts": 4}, "num_experts_per_tok is missing"),
        ({"kv_lora_rank": 512}, "qk_nope_head_dim is missing"),
        ({"num_hidden_layers": 10**30}, f"num_hidden_layers {10**30} is more than the 10000 that are counted"),
        ({"model_type": "mpt", "d_model": 8, "no_bias": False}, "no_bias false is not understood"),
        ({"model_type": "dbrx", "d_model": 8, "n_layers": 1, "n_heads": 1}, "attn_config: kv_n_heads is missing"),
        ({"mlp_only_layers": "all"}, "mlp_only_layers must be a list of whole numbers, not 'all'"),
    ],
)  # fmt: skip
def test_contradictions_are_named(changes: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        count({**LLAMA_70B, **changes})
