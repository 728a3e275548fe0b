"""vLLM's options of the model: what it is called, how long its context is, how its prompts and answers are read."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from mockvllm.settings.knob import knob
from mockvllm.settings.values import human_int_or_auto, json_object, literal


@dataclass(frozen=True, init=False, repr=False, eq=False)
class ModelConfig:
    """The model: names, tokenizer, context length, defaults of sampling."""

    runner: Literal["auto", "draft", "generate", "pooling"] = knob("auto", "kind of model runner")
    convert: Literal["auto", "classify", "embed", "none"] = knob("auto", "adapter for pooling tasks")
    tokenizer: str | None = knob(None, "directory with tokenizer.json; unset: one word is one token")
    tokenizer_mode: str = knob("auto", "kind of tokenizer")
    dtype: Literal["auto", "bfloat16", "float", "float16", "float32", "half"] = knob("auto", "type of the weights")
    seed: int = knob(0, "seed of everything that is drawn")
    hf_config_path: str | None = knob(None, "directory with the model's config.json")
    max_model_len: int | None = knob(
        None,
        "tokens of prompt and answer together; unset: 8192 or the model's; auto or -1: what the KV cache holds",
        parse=human_int_or_auto,
        within="[-1, inf)",
    )
    quantization: str | None = knob(None, "quantization of the weights", "-q")
    enforce_eager: bool = knob(False, "no CUDA graphs")
    max_logprobs: int = knob(20, "most logprobs a request may ask for; -1: the vocabulary", within="[-1, inf)")
    logprobs_mode: Literal["processed_logits", "processed_logprobs", "raw_logits", "raw_logprobs"] = knob(
        "raw_logprobs", "what logprobs hold"
    )
    skip_tokenizer_init: bool = knob(False, "no tokenizer: token ids only")
    enable_prompt_embeds: bool = knob(False, "accept prompt_embeds")
    served_model_name: tuple[str, ...] | None = knob(None, "names of the model; answers carry the first")
    hf_overrides: Mapping[str, Any] | str = knob({}, "changes to the model's config.json", parse=literal, json=True)
    generation_config: str = knob("auto", "defaults of sampling: auto (the model's), vllm (none) or a directory")
    override_generation_config: Mapping[str, Any] = knob({}, "single defaults of sampling", parse=json_object)
    enable_sleep_mode: bool = knob(False, "allow /sleep and /wake_up")
    renderer_num_workers: int = knob(1, "threads that render prompts", within="[1, inf)")


@dataclass(frozen=True, init=False, repr=False, eq=False)
class StructuredOutputsConfig:
    """Reasoning in the answer."""

    reasoning_parser: str = knob("", "how reasoning is found in the text")


@dataclass(frozen=True, init=False, repr=False, eq=False)
class MultiModalConfig:
    """Images, video and sound."""

    limit_mm_per_prompt: Mapping[str, Any] = knob({}, "items of each kind a prompt may hold")


@dataclass(frozen=True, init=False, repr=False, eq=False)
class LoRAConfig:
    """LoRA adapters."""

    enable_lora: bool | None = knob(None, "serve adapters")
    max_loras: int = knob(1, "adapters in one batch", within="[1, inf)")
    max_lora_rank: Literal[1, 8, 16, 32, 64, 128, 256, 320, 512] = knob(16, "highest rank of an adapter")
    max_cpu_loras: int | None = knob(None, "adapters kept in CPU memory", within="[1, inf)")
    default_mm_loras: Mapping[str, Any] | None = knob(None, "adapters by kind of input")
