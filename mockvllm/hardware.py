"""A model on GPUs, as `planning` reckons them, becomes the engine's step time."""

from mockvllm.engine.roofline import Devices, Efficiency, ModelShape, Roofline
from mockvllm.planning.dtypes import WeightsDtype, bytes_by_part
from mockvllm.planning.gpus import GPU
from mockvllm.planning.model import Model


def roofline(
    model: Model,
    gpu: GPU,
    tensor_parallel_size: int = 1,
    *,
    dtype: WeightsDtype | None = None,
    kv_dtype: str = "auto",
    efficiency: Efficiency | None = None,
) -> Roofline:
    """`--step-time roofline`. `dtype` is the weights' format (default: what the config says).

    Raises InputError for an unknown `kv_dtype`.
    """
    dtype = dtype or model.dtype
    devices = Devices(
        count=tensor_parallel_size,
        memory_bandwidth=gpu.bandwidth,
        flops=gpu.peak(dtype.get("mlp", dtype["default"])),
        link_bandwidth=gpu.link_bytes_per_second / 2,
    )
    return Roofline(model_shape(model, dtype, kv_dtype), devices, efficiency or Efficiency())


def model_shape(model: Model, dtype: WeightsDtype, kv_dtype: str = "auto") -> ModelShape:
    """The figures that decide how long a step takes."""
    shape, parameters = model.shape, model.parameters
    kv = model.kv_cache(kv_dtype)
    experts = shape.experts
    # The embedding table is only looked into, unless it is the output head as well.
    read = [part for part in parameters.PARTS if part != "experts" and (part != "embedding" or shape.tied)]
    counts, sizes = parameters.parts(), bytes_by_part(parameters, dtype)
    return ModelShape(
        layers=shape.layers,
        hidden_size=shape.hidden,
        query_size=shape.heads * shape.head_dim,
        kv_heads=kv.kv_heads,
        kv_bytes=kv.bytes_per_token,
        weight_bytes=float(sum(sizes[part] for part in read)),
        weight_flops=2 * sum(counts[part] for part in read),
        num_experts=experts.number if experts else 0,
        experts_per_token=experts.per_token if experts else 0,
        expert_bytes=float(sizes["experts"]),
        expert_flops=2 * parameters.active_experts,
        sliding_kv_share=kv.sliding_layers / kv.layers,
        window=kv.window,
    )
