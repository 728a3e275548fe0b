"""Which architecture a `config.json` is of."""

from mockvllm.planning.errors import InputError
from mockvllm.planning.families import FAMILIES
from mockvllm.planning.hf_config import HFConfig

_CLASS_ENDINGS = ("ForCausalLM", "ForConditionalGeneration", "LMHeadModel")
_CLASSES = {name.replace("_", ""): name for name in FAMILIES}


def text_model(config: HFConfig) -> HFConfig:
    """The language model's own keys: of a multimodal config those under `text_config`."""
    for tower in ("vision_config", "audio_config"):
        if config.has(tower):
            config.assume(f"the encoder under {tower} is not counted, only the language model")
    text = config.section("text_config")
    if text is None:
        return config
    return text.over({"tie_word_embeddings": config.values["tie_word_embeddings"]} if _ties(config, text) else {})


def _ties(config: HFConfig, text: HFConfig) -> bool:
    return config.has("tie_word_embeddings") and not text.has("tie_word_embeddings")


def model_type(config: HFConfig, assume_as: str = "") -> str:
    """The row of `FAMILIES` for a config, by `model_type` or else by the class named in `architectures`.

    `assume_as` is the row for architectures that have none. Raises InputError for an unknown one without it.
    """
    text = text_model(config)
    names = [text.text("model_type"), config.text("model_type"), *map(_type_of_class, config.strings("architectures"))]
    known = [name for name in names if name in FAMILIES]
    if known:
        return known[0]
    given = ", ".join(dict.fromkeys(name for name in names if name))
    if given and not assume_as:
        raise InputError(
            f"{config.source}: unknown architecture {given} (--assume-architecture llama counts it as one)"
        )
    config.assume(
        f"{f'the architecture {given}' if given else 'no architecture is named: it'} is counted as {_row(assume_as)}"
    )
    return _row(assume_as)


def _row(assume_as: str) -> str:
    if assume_as and assume_as not in FAMILIES:
        raise InputError(f"--assume-architecture {assume_as}: is none of {', '.join(sorted(FAMILIES))}")
    return assume_as or "llama"


def _type_of_class(name: str) -> str:
    """`Qwen2MoeForCausalLM` is the class of `qwen2_moe`."""
    stem = name
    for ending in _CLASS_ENDINGS:
        stem = stem.removesuffix(ending)
    return _CLASSES.get(stem.lower(), name)
