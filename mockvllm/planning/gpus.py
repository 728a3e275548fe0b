"""GPUs: what each figure is, and who says so. Operations are dense ones: data sheets print twice that, with sparsity.

`memory_bytes` is what the device reports to the engine (torch's `total_memory`), which is less than its name says.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from mockvllm.planning.errors import InputError

GIB = 2**30
TERA = 10**12


@dataclass(frozen=True, slots=True, kw_only=True)
class GPU:
    """Bytes, bytes per second, operations per second by number format, and where they come from.

    `link_bytes_per_second`: to the other GPUs of a node, both directions together.
    """

    name: str
    device: str
    memory_bytes: int
    bandwidth: float
    flops: Mapping[str, float]
    link_bytes_per_second: float
    source: str

    def peak(self, dtype: str) -> float:
        """Operations per second for weights of `dtype`: formats without units of their own are computed in BF16."""
        return self.flops.get(dtype, self.flops["bf16"])


GPUS: Mapping[str, GPU] = {
    gpu.name: gpu
    for gpu in (
        GPU(
            name="H100",
            device="NVIDIA H100 80GB HBM3",
            memory_bytes=int(79.1 * GIB),
            bandwidth=3.35 * TERA,
            flops={"bf16": 989.5 * TERA, "fp8": 1979 * TERA, "int8": 1979 * TERA},
            link_bytes_per_second=0.9 * TERA,
            source="NVIDIA H100 data sheet, SXM (with sparsity: 1,979 BF16, 3,958 FP8); memory as reported: 79.1 GiB",
        ),
        GPU(
            name="H200",
            device="NVIDIA H200",
            memory_bytes=int(139.8 * GIB),
            bandwidth=4.8 * TERA,
            flops={"bf16": 989.5 * TERA, "fp8": 1979 * TERA, "int8": 1979 * TERA},
            link_bytes_per_second=0.9 * TERA,
            source="NVIDIA H200 data sheet, SXM (with sparsity: 1,979 BF16, 3,958 FP8); memory as reported: 139.8 GiB",
        ),
        GPU(
            name="A100",
            device="NVIDIA A100-SXM4-80GB",
            memory_bytes=int(79.2 * GIB),
            bandwidth=2.039 * TERA,
            flops={"bf16": 312 * TERA, "int8": 624 * TERA},
            link_bytes_per_second=0.6 * TERA,
            source="NVIDIA A100 data sheet, 80 GB SXM (dense figures; no FP8 units); memory as reported: 79.2 GiB",
        ),
        GPU(
            name="L40S",
            device="NVIDIA L40S",
            memory_bytes=int(44.4 * GIB),
            bandwidth=0.864 * TERA,
            flops={"bf16": 362.05 * TERA, "fp8": 733 * TERA, "int8": 733 * TERA},
            link_bytes_per_second=0.064 * TERA,
            source="NVIDIA L40S data sheet (with sparsity: 733 BF16, 1,466 FP8); PCIe 4 x16, 64 GB/s both ways; "
            "memory as reported: 44.4 GiB",
        ),
        GPU(
            name="B200",
            device="NVIDIA B200",
            memory_bytes=int(178.4 * GIB),
            bandwidth=8.0 * TERA,
            flops={
                "bf16": 2250 * TERA,
                "fp8": 4500 * TERA,
                "int8": 4500 * TERA,
                "nvfp4": 9000 * TERA,
                "mxfp4": 9000 * TERA,
            },
            link_bytes_per_second=1.8 * TERA,
            source="NVIDIA HGX B200 data sheet, one GPU (with sparsity: 4,500 BF16, 9,000 FP8, 18,000 FP4); bandwidth: "
            "DGX B200 data sheet, an eighth of 64 TB/s (later HGX sheets print 7.7); memory as reported: 178.4 GiB",
        ),
        GPU(
            name="MI300X",
            device="AMD Instinct MI300X",
            memory_bytes=int(191.98 * GIB),
            bandwidth=5.3 * TERA,
            flops={"bf16": 1307.4 * TERA, "fp8": 2614.9 * TERA, "int8": 2614.9 * TERA},
            link_bytes_per_second=0.896 * TERA,
            source="AMD Instinct MI300X data sheet (dense figures; seven links of 128 GB/s); "
            "memory as reported: 191.98 GiB",
        ),
    )
}


def find_gpu(name: str) -> GPU:
    """The preset called `name`, in any case, also as `h100-sxm`. Raises InputError with the known names."""
    key = name.upper().removesuffix("-SXM").removesuffix(" SXM")
    if key not in GPUS:
        raise InputError(f"--gpu {name}: is none of {', '.join(GPUS)}")
    return GPUS[key]
