"""The picture of a run: running and waiting requests, KV cache usage, and when each of the first requests did what."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mockvllm.planning.plots import new_figure, save

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLORS = {"waiting": "#d0d0d0", "prefill": "#e8a33d", "decode": "#3b7dd8", "preempted": "#c0392b"}


def save_picture(series: Mapping[str, Any], path: Path) -> None:
    """`series` is that of the result. Raises InputError without matplotlib, and for a file that cannot be written."""
    figure = new_figure(11, 9)
    requests, usage, lives = figure.subplots(3, 1, sharex=True, height_ratios=[2, 1, 4])
    time = series["time"]
    requests.plot(time, series["running"], label="running", color=COLORS["decode"])
    requests.plot(time, series["waiting"], label="waiting", color=COLORS["prefill"])
    requests.set(ylabel="requests", ylim=(0, None))
    requests.legend(loc="upper right", fontsize="small")
    usage.fill_between(time, [100 * share for share in series["kv_cache_usage"]], color=COLORS["decode"], alpha=0.4)
    usage.set(ylabel="KV cache, %", ylim=(0, 105))
    _draw_lives(lives, series)
    save(figure, path)


def _draw_lives(axes: "Axes", series: Mapping[str, Any]) -> None:
    """A bar for each request: waiting, prefill, decode, and where it had lost its seat."""
    requests = series["requests"]
    for name, color in COLORS.items():
        spans = [(row, span) for row, request in enumerate(requests) for span in _spans(request)[name]]
        starts = [start for _, (start, _) in spans]
        lengths = [end - start for _, (start, end) in spans]
        axes.barh([row for row, _ in spans], lengths, left=starts, height=0.8, color=color, label=name)
    axes.invert_yaxis()
    axes.set(xlabel="seconds", ylabel=f"the first {len(requests)} requests")
    axes.legend(loc="upper right", fontsize="small")


def _spans(request: Mapping[str, Any]) -> dict[str, list[tuple[float, float]]]:
    first_token = request["first_token"]
    return {
        "waiting": [(request["sent"], request["scheduled"])],
        "prefill": [(request["scheduled"], first_token)],
        "decode": [(first_token, request["finished"])],
        "preempted": [(start, end) for start, end in request["pauses"]],
    }
