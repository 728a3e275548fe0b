"""What a `quantization_config` says: the format of the quantized matrices."""

from collections.abc import Iterator

from mockvllm.planning.hf_config import HFConfig

_NAMED = ("mxfp4", "nvfp4", "fp8")


def quantized_format(config: HFConfig) -> str | None:
    """A key of `WEIGHT_BITS`, or None: nothing is quantized, or (said in `config.assumed`) by an unknown method."""
    section = config.section("quantization_config")
    if section is None:
        return None
    named = [name for text in _texts(section) for name in _NAMED if name in text.lower()]
    if named:
        return named[0]
    weights = _grouped_weights(section)
    bits = weights.count("num_bits") if weights else _bits(section)
    if bits == 8 and weights and weights.text("type") == "float":
        return "fp8"
    if bits in (4, 8):
        return f"int{bits}"
    method = section.text("quant_method") or "no method"
    config.assume(f"quantization_config: {method} is not understood, weights are counted unquantized")
    return None


def _texts(section: HFConfig) -> Iterator[str]:
    """Where the methods put a name: mxfp4 and fp8; ModelOpt; compressed-tensors (`nvfp4-pack-quantized`)."""
    yield from (section.text(key) for key in ("quant_method", "quant_algo", "format"))


def _bits(section: HFConfig) -> int:
    """GPTQ and AWQ count them, bitsandbytes has a switch for each."""
    switches = {"load_in_4bit": 4, "load_in_8bit": 8}
    return section.count("bits") or sum(bits for key, bits in switches.items() if section.flag(key))


def _grouped_weights(section: HFConfig) -> HFConfig | None:
    """compressed-tensors: `config_groups`, of which the first decides."""
    groups = section.section("config_groups")
    group = groups.section(min(groups.values)) if groups and groups.values else None
    return group.section("weights") if group else None
