"""vLLM's options of how many GPUs and engines there are."""

from dataclasses import dataclass
from typing import Literal

from mockvllm.settings.knob import knob


@dataclass(frozen=True, init=False, repr=False, eq=False)
class ParallelConfig:
    """Tensor, pipeline, data and expert parallelism."""

    distributed_executor_backend: str | None = knob(None, "how workers are started")
    pipeline_parallel_size: int = knob(1, "pipeline stages", "-pp", within="[1, inf)")
    tensor_parallel_size: int = knob(1, "GPUs a layer is spread over", "-tp", within="[1, inf)")
    decode_context_parallel_size: int = knob(1, "GPUs a context is spread over", "-dcp", within="[1, inf)")
    data_parallel_size: int = knob(1, "engines", "-dp", within="[1, inf)")
    data_parallel_rank: int | None = knob(None, "rank of this server's engine", "-dpn", within="[0, inf)")
    data_parallel_start_rank: int | None = knob(None, "first rank on this node", "-dpr", within="[0, inf)")
    data_parallel_size_local: int | None = knob(None, "engines on this node", "-dpl", within="[0, inf)")
    data_parallel_address: str | None = knob(None, "address of the head node", "-dpa")
    data_parallel_rpc_port: int | None = knob(None, "port of the head node", "-dpp", within="[0, 65535]")
    data_parallel_backend: Literal["mp", "ray"] = knob("mp", "how engines are started", "-dpb")
    data_parallel_hybrid_lb: bool = knob(False, "balance in each node", "-dph")
    data_parallel_external_lb: bool = knob(False, "balance outside", "-dpe")
    data_parallel_multi_port_external_lb: bool = knob(False, "a port for each engine", "-dpm", switch=True)
    enable_expert_parallel: bool = knob(False, "spread experts over GPUs", "-ep")
