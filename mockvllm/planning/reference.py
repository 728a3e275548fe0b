"""The reference model: what the planning commands reckon with until they are told otherwise."""

from collections.abc import Mapping

NAME = "Llama 3.3 70B Instruct"

CONFIG: Mapping[str, object] = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 8192,
    "num_hidden_layers": 80,
    "num_attention_heads": 64,
    "num_key_value_heads": 8,
    "intermediate_size": 28672,
    "vocab_size": 128256,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
}

# Round figures, with FP8 weights and a BF16 KV cache.
PARAMETERS = 70_600_000_000
WEIGHTS_BYTES = 70_600_000_000
KV_BYTES_PER_TOKEN = 327_680
