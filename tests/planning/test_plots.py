"""Pictures: what is in them, that they are written, and what is said when they cannot be."""

import sys
from pathlib import Path

import pytest
from figures import count, read, refusal, run
from hypothesis import given
from hypothesis import strategies as st

from mockvllm.planning import plots
from mockvllm.planning.dtypes import bytes_by_part, parse_weights_dtype
from mockvllm.planning.gpus import GPUS
from mockvllm.planning.lesson_sweep import lesson_results
from mockvllm.planning.memory import Replica
from mockvllm.planning.roofline import Machine, roofline
from mockvllm.planning.sweep import Promise, read_sweep

OSS = count(read("models.json")["gpt-oss-20b"]["config"])


@pytest.mark.parametrize(
    "words",
    [["plan", "memory"], ["plan", "roofline"], ["sweep"], ["plan", "memory", "--dtype", "bf16"]],
    ids=" ".join,
)
@pytest.mark.parametrize(("ending", "start"), [("png", b"\x89PNG"), ("svg", b"<?xml")])
def test_each_command_draws_its_picture(tmp_path: Path, words: list[str], ending: str, start: bytes) -> None:
    path = tmp_path / f"picture.{ending}"
    assert run(*words, "--plot", path).status == 0
    assert path.read_bytes().startswith(start)


@given(
    weights=st.integers(1, 10**11),
    memory=st.integers(10**9, 10**12),
    utilization=st.floats(0.1, 1),
    tp=st.integers(1, 8),
)
def test_the_segments_of_a_gpu_add_up_to_its_memory(weights: int, memory: int, utilization: float, tp: int) -> None:
    replica = Replica(
        weights_bytes=weights, gpu_memory_bytes=memory, gpu_memory_utilization=utilization, tensor_parallel_size=tp
    )
    segments = plots.memory_segments(bytes_by_part(OSS, parse_weights_dtype("bf16,experts=mxfp4")), replica)
    assert sum(segments.values()) == pytest.approx(memory)
    assert sum(value for name, value in segments.items() if "weights" in name) == pytest.approx(weights / tp)


def test_a_part_is_as_large_as_its_format_makes_it() -> None:
    parts = bytes_by_part(OSS, parse_weights_dtype("bf16,experts=mxfp4"))
    replica = Replica(weights_bytes=int(sum(parts.values())), tensor_parallel_size=1)
    segments = plots.memory_segments(parts, replica)
    assert segments["weights: experts"] == pytest.approx(OSS.experts * 4.25 / 8)
    assert segments["weights: attention"] == pytest.approx(OSS.attention * 2)


def test_the_steps_lie_on_the_roof() -> None:
    machine = Machine(gpu=GPUS["H100"])
    [axes] = plots.roofline_picture(machine, roofline(machine, 2000, 2250, [1, 92])).axes
    roof, _, *steps = axes.lines
    assert max(roof.get_ydata()) == 2 * 1979e12
    for step in steps:
        intensity, reached = step.get_xdata()[0], step.get_ydata()[0]
        assert reached == pytest.approx(min(2 * 1979e12, intensity * 2 * 3.35e12))


def test_the_sweep_shows_latency_throughput_and_goodput() -> None:
    promise = Promise()
    figure = plots.sweep_picture(read_sweep(lesson_results(), promise), promise)
    latency, throughput, goodput = figure.axes
    assert list(latency.lines[0].get_ydata()) == pytest.approx([0.31, 0.39, 0.48, 0.61, 0.72, 0.98, 2.14])
    assert max(throughput.lines[0].get_ydata()) == pytest.approx(1595.7, abs=0.1)
    assert list(goodput.lines[0].get_ydata())[-1] == pytest.approx(42)
    assert all(axes.lines[-1].get_xdata()[0] == 72 for axes in figure.axes)


def test_without_matplotlib_the_extra_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    line = refusal("plan", "memory", "--plot", tmp_path / "x.png")
    assert "--plot: needs matplotlib, which comes with pip install 'mockvllm[plot]'" in line


@pytest.mark.parametrize(
    ("name", "message"), [("x.picture", "Format 'picture' is not supported"), ("no/x.png", "No such file")]
)
def test_a_picture_that_cannot_be_written_is_refused(tmp_path: Path, name: str, message: str) -> None:
    assert message in refusal("plan", "roofline", "--plot", tmp_path / name)
