"""Number formats: how many bits a weight takes, how many bytes an element of the KV cache."""

import math
from collections.abc import Mapping
from fractions import Fraction

from mockvllm.planning.errors import InputError
from mockvllm.planning.hf_config import HFConfig
from mockvllm.planning.parameters import Parameters

WEIGHT_BITS: Mapping[str, Fraction] = {
    "fp32": Fraction(32),
    "bf16": Fraction(16),
    "fp16": Fraction(16),
    "fp8": Fraction(8),
    "int8": Fraction(8),
    "int4": Fraction(4),
    "mxfp4": 4 + Fraction(8, 32),  # a shared 8-bit scale for 32 values
    "nvfp4": 4 + Fraction(8, 16),  # a shared 8-bit scale for 16 values
}
KV_BYTES: Mapping[str, int] = {"fp32": 4, "bf16": 2, "fp16": 2, "fp8": 1}
_ALIASES = {"float32": "fp32", "float": "fp32", "bfloat16": "bf16", "float16": "fp16", "half": "fp16"}
_ALIASES |= {"fp8_e4m3": "fp8", "fp8_e5m2": "fp8"}
_QUANTIZED_PARTS = ("attention", "mlp", "experts")  # checkpoints keep the rest in the model's own format

WeightsDtype = Mapping[str, str]
"""A format for each part of `Parameters`, and under `default` for all others."""


def dtype_name(name: str, flag: str, known: Mapping[str, object]) -> str:
    """The short name of a format (`bfloat16` is `bf16`). Raises InputError for one that is not in `known`."""
    short = _ALIASES.get(name.lower(), name.lower())
    if short not in known:
        raise InputError(f"{flag} {name}: is none of {', '.join(known)}")
    return short


def parse_weights_dtype(text: str) -> WeightsDtype:
    """`fp8`, or a mix by part such as `bf16,experts=mxfp4`. Raises InputError."""
    mix: dict[str, str] = {}
    for item in text.split(","):
        part, _, name = item.strip().rpartition("=")
        part = part or "default"
        if part not in ("default", *Parameters.PARTS):
            raise InputError(f"--dtype {text}: {part} is none of {', '.join(Parameters.PARTS)}")
        mix[part] = dtype_name(name, "--dtype", WEIGHT_BITS)
    if "default" not in mix:
        raise InputError(f"--dtype {text}: says nothing of the other parts (as in bf16,{text})")
    return mix


def bytes_by_part(parameters: Parameters, dtype: WeightsDtype) -> dict[str, Fraction]:
    """Exact bytes of each part."""
    default = dtype["default"]
    return {part: count * WEIGHT_BITS[dtype.get(part, default)] / 8 for part, count in parameters.parts().items()}


def weights_bytes(parameters: Parameters, dtype: WeightsDtype) -> int:
    """Bytes of all weights, rounded up."""
    return math.ceil(sum(bytes_by_part(parameters, dtype).values()))


def config_dtype(config: HFConfig) -> WeightsDtype:
    """What the config says of its weights: `dtype` (or `torch_dtype`), and `quantization_config` for the matrices."""
    name = config.text("dtype") or config.text("torch_dtype")
    if not name:
        config.assume("dtype is not given: weights are counted in bf16")
    base = dtype_name(name or "bf16", f"{config.source}: dtype", WEIGHT_BITS)
    quantized = _quantized(config)
    if quantized is None:
        return {"default": base}
    parts = ("experts",) if quantized == "mxfp4" else _QUANTIZED_PARTS
    config.assume(f"quantization_config: {', '.join(parts)} in {quantized}, all else in {base}")
    return {"default": base, **dict.fromkeys(parts, quantized)}


def _quantized(config: HFConfig) -> str | None:
    section = config.section("quantization_config")
    if section is None:
        return None
    method = section.text("quant_method").lower() or section.text("quant_algo").lower()
    bits = section.count("bits") or (4 if section.flag("load_in_4bit") else 0)
    for name in ("mxfp4", "nvfp4", "fp8"):
        if name in method or name in section.text("quant_algo").lower():
            return name
    if bits in (4, 8):
        return f"int{bits}"
    config.assume(f"quantization_config: {method or 'no method'} is not understood, weights are counted unquantized")
    return None
