"""The formats that weights come in: how many bits each takes, and mixes of them."""

from collections.abc import Mapping
from fractions import Fraction

from mockvllm.planning.errors import InputError
from mockvllm.planning.formats import format_name
from mockvllm.planning.hf_config import HFConfig
from mockvllm.planning.parameters import Parameters
from mockvllm.planning.quantization import quantized_format

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
_QUANTIZED_PARTS = ("attention", "mlp", "experts")  # checkpoints keep the rest in the model's own format

WeightsDtype = Mapping[str, str]
"""A format for each part of `Parameters`, and under `default` for all others."""


def parse_weights_dtype(text: str) -> WeightsDtype:
    """`fp8`, or a mix by part such as `bf16,experts=mxfp4`. Raises InputError."""
    mix: dict[str, str] = {}
    for item in text.split(","):
        part, _, name = item.strip().rpartition("=")
        part = part or "default"
        if part not in ("default", *Parameters.PARTS):
            raise InputError(f"--dtype {text}: {part} is none of {', '.join(Parameters.PARTS)}")
        mix[part] = format_name(name, "--dtype", WEIGHT_BITS)
    if "default" not in mix:
        raise InputError(f"--dtype {text}: says nothing of the other parts (as in bf16,{text})")
    return mix


def bytes_by_part(parameters: Parameters, dtype: WeightsDtype) -> dict[str, Fraction]:
    """Exact bytes of each part."""
    default = dtype["default"]
    return {part: count * WEIGHT_BITS[dtype.get(part, default)] / 8 for part, count in parameters.parts().items()}


def config_dtype(config: HFConfig) -> WeightsDtype:
    """What the config says of its weights: `dtype` (or `torch_dtype`), and `quantization_config` for the matrices."""
    name = config.text("dtype") or config.text("torch_dtype")
    if not name:
        config.assume("dtype is not given: weights are counted in bf16")
    base = format_name(name or "bf16", f"{config.source}: dtype", WEIGHT_BITS)
    quantized = quantized_format(config)
    if quantized is None:
        return {"default": base}
    parts = ("experts",) if quantized == "mxfp4" else _QUANTIZED_PARTS
    config.assume(f"quantization_config: {', '.join(parts)} in {quantized}, all else in {base}")
    return {"default": base, **dict.fromkeys(parts, quantized)}
