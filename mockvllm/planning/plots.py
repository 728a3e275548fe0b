"""Pictures of planning figures. matplotlib comes with the extra `plot` and is imported only here, when it is needed."""

from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from mockvllm.planning.errors import InputError
from mockvllm.planning.memory import Replica
from mockvllm.planning.roofline import Machine, Roofline
from mockvllm.planning.sweep import Promise, Sweep

if TYPE_CHECKING:
    from matplotlib.figure import Figure

GB = 1e9


def new_figure(width: float = 9, height: float = 5) -> "Figure":
    """An empty figure, in inches. Raises InputError when matplotlib is not installed."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise InputError("--plot: needs matplotlib, which comes with pip install 'mockvllm[plot]'") from None
    return Figure(figsize=(width, height), layout="constrained")


def save(figure: "Figure", path: Path) -> None:
    """Write a picture in the format that the file's name ends in. Raises InputError when that cannot be."""
    try:
        figure.savefig(path)
    except OSError as error:
        raise InputError(f"--plot {path}: {error.strerror}") from None
    except ValueError as error:
        raise InputError(f"--plot {path}: {error}") from None


def memory_segments(parts: Mapping[str, Fraction], replica: Replica) -> dict[str, float]:
    """Bytes of one GPU by use; they add up to its memory. What does not fit makes the KV cache's share negative.

    `parts`: how the weights are divided. Those below a hundredth of the memory are one segment.
    """
    scale = replica.weights_bytes / float(sum(parts.values())) / replica.gpus
    weights = {f"weights: {part}": float(count) * scale for part, count in parts.items()}
    large = {name: count for name, count in weights.items() if count >= replica.gpu_memory_bytes / 100}
    return {
        **large,
        "weights: the rest": replica.weights_bytes / replica.gpus - sum(large.values()),
        "overhead": replica.overhead_bytes / replica.gpus,
        "KV cache": replica.kv_room_bytes / replica.gpus,
        "not used": replica.gpu_memory_bytes - replica.engine_bytes / replica.gpus,
    }


def memory_picture(parts: Mapping[str, Fraction], replica: Replica) -> "Figure":
    """Where the bytes of a GPU go: one bar, a segment for each use. A line marks what there is."""
    figure = new_figure(9, 3.2)
    axes = figure.add_subplot()
    left = 0.0
    for name, count in memory_segments(parts, replica).items():
        axes.barh(0, max(count, 0) / GB, left=left, label=f"{name} {count / GB:,.2f} GB")
        left += max(count, 0) / GB
    axes.axvline(replica.gpu_memory_bytes / GB, color="black", linewidth=2)
    axes.set(yticks=[], xlabel="GB", title=f"Where the bytes of a GPU go (one of {replica.gpus})")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.25), ncols=3, fontsize="small", frameon=False)
    return figure


def roofline_picture(machine: Machine, result: Roofline) -> "Figure":
    """FLOP/s that can be reached against FLOP per byte, with the steps on the roof."""
    figure = new_figure()
    axes = figure.add_subplot()
    gpus = machine.tensor_parallel_size
    peak, bandwidth = gpus * machine.gpu.peak(machine.dtype), gpus * machine.gpu.bandwidth
    steps = {f"prefill, {result.prefill.floor_ms:.1f} ms": result.prefill.intensity}
    steps |= {f"decode x {step.batch}, {step.floor_ms:.1f} ms": step.intensity for step in result.decode}
    low, high = min([*steps.values(), result.break_even]) / 2, max([*steps.values(), result.break_even]) * 2
    axes.plot([low, result.break_even, high], [low * bandwidth, peak, peak], color="black")
    axes.axvline(result.break_even, color="grey", linestyle=":", label=f"break-even, {result.break_even:,.0f} FLOP/B")
    for name, intensity in steps.items():
        axes.plot(intensity, min(peak, intensity * bandwidth), "o", label=name)
    axes.set(xscale="log", yscale="log", xlabel="FLOP per byte", ylabel="FLOP/s at best")
    axes.set_title(f"{gpus} x {machine.gpu.name}, {machine.dtype}")
    axes.legend(fontsize="small")
    return figure


def sweep_picture(sweep: Sweep, promise: Promise) -> "Figure":
    """Latency, throughput and goodput over the load; the knee is a line through all three."""
    figure = new_figure(12, 4)
    latency, throughput, goodput = figure.subplots(1, 3)
    at = [sweep.load(point) for point in sweep.points]
    for metric, limit in promise.slo_ms.items():
        values = [point.latencies_ms[promise.key(metric)] / limit for point in sweep.points]
        latency.plot(at, values, "o-", label=f"{metric.upper()} p{promise.percentile:g} / {limit:g} ms")
    latency.axhline(1, color="black", linewidth=1)
    latency.legend(fontsize="small")
    latency.set(title="latency / promise")
    throughput.plot(at, [point.output_throughput for point in sweep.points], "o-")
    throughput.set(title="output tokens/s", ylim=(0, None))
    shares = [(sweep.load(point), point.goodput_share) for point in sweep.points if point.goodput_share is not None]
    goodput.plot([x for x, _ in shares], [100 * share for _, share in shares], "o-")
    goodput.set(title="goodput, %", ylim=(0, 105))
    for axes in (latency, throughput, goodput):
        axes.set(xlabel="requests in flight" if sweep.by == "concurrency" else "requests per second")
        if sweep.knee:
            axes.axvline(sweep.load(sweep.knee), color="grey", linestyle=":")
    return figure
