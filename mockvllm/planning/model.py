"""A model as the planning functions see it: its shape, its parameters, and the formats it comes in."""

from dataclasses import dataclass

from mockvllm.planning import reference
from mockvllm.planning.dtypes import WeightsDtype, config_dtype
from mockvllm.planning.formats import KV_BYTES, format_name
from mockvllm.planning.hf_config import HFConfig
from mockvllm.planning.kv_cache import KVCache, kv_cache
from mockvllm.planning.parameters import Parameters, count_parameters
from mockvllm.planning.shape import Shape, read_shape


@dataclass(frozen=True, slots=True)
class Model:
    """`dtype` is what its config says of the weights; `assumed` what the config left open."""

    shape: Shape
    parameters: Parameters
    dtype: WeightsDtype
    assumed: tuple[str, ...]

    def kv_cache(self, kv_dtype: str = "auto") -> KVCache:
        """The KV cache in a format; `auto` is vLLM's: the one the model computes in. Raises InputError."""
        base = self.dtype["default"] if self.dtype["default"] in KV_BYTES else "bf16"
        name = format_name(base if kv_dtype == "auto" else kv_dtype, "--kv-dtype", KV_BYTES)
        return kv_cache(self.shape, KV_BYTES[name])


def read_model(config: HFConfig, assume_as: str = "") -> Model:
    """The model of a `config.json`; as for `read_shape`. Raises InputError."""
    shape = read_shape(config, assume_as)
    dtype = config_dtype(config)
    return Model(shape, count_parameters(shape), dtype, tuple(config.assumed))


def reference_model() -> Model:
    return read_model(HFConfig(reference.CONFIG, reference.NAME))
