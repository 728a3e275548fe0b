"""Traces of real load."""

from pathlib import Path

import pytest

from mockvllm.simulation.timed_trace import TimedTrace

LINES = """\
{"timestamp": 1000, "input_length": 40, "output_length": 3, "hash_ids": [5, 6, 7]}

{"timestamp": 3500, "input_length": 50, "output_length": 1, "hash_ids": [5, 6, 9], "priority": 4, "extra": "ignored"}
{"timestamp": 2000, "input_length": 20, "output_length": 2}
"""


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "trace.jsonl"
    path.write_text(LINES)
    return path


def test_times_count_from_the_first_request_and_in_their_order(trace: Path) -> None:
    load = TimedTrace(path=trace, sec_multiplier=0.001).workload()
    assert list(load.arrivals) == pytest.approx([0.0, 1.0, 2.5])
    assert list(load.prompt_lens) == [40, 20, 50]
    assert list(load.output_lens) == [3, 2, 1]
    assert list(load.priorities) == [0, 0, 4]


def test_prompts_share_the_chunks_that_both_name(trace: Path) -> None:
    load = TimedTrace(path=trace).workload()
    first, unnamed, other = (load.prompt(number) for number in range(3))
    assert first[:32] == other[:32]
    assert set(first[32:]).isdisjoint(other[32:])
    assert set(unnamed).isdisjoint({*first, *other})
    assert [len(first), len(unnamed), len(other)] == [40, 20, 50]


def test_what_the_chunks_do_not_cover_is_shared_with_nobody(trace: Path) -> None:
    load = TimedTrace(path=trace, chunk_hash_size=8).workload()
    first, other = load.prompt(0), load.prompt(2)
    assert first[:16] == other[:16]
    assert set(first[24:]).isdisjoint(other)
    assert (len(first), len(other)) == (40, 50)


def test_only_the_first_lines_if_so_told(trace: Path) -> None:
    load = TimedTrace(path=trace, num_prompts=2).workload()
    assert list(load.prompt_lens) == [40, 50]


def test_the_mix_is_for_lines_without_a_priority(trace: Path) -> None:
    assert list(TimedTrace(path=trace, priority_mix={8: 1.0}).workload().priorities) == [8, 8, 4]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("nonsense", "2: JSON is malformed"),
        ('{"timestamp": 0, "output_length": 1}', "2: Object missing required field `input_length`"),
        ('{"timestamp": 0, "input_length": 0, "output_length": 1}', "2: input_length must be at least 1, not 0"),
        ('{"timestamp": 0, "input_length": 1, "output_length": -2}', "2: output_length must be at least 1, not -2"),
        ('{"timestamp": 0, "input_length": 1, "output_length": 1, "hash_ids": [-3]}', "2: hash_ids must not be negati"),
        ('{"timestamp": "x", "input_length": 1, "output_length": 1}', "2: Expected `float`, got `str` - at `$.timest"),
    ],
)
def test_a_wrong_line_is_named(trace: Path, line: str, message: str) -> None:
    trace.write_text('{"timestamp": 0, "input_length": 1, "output_length": 1}\n' + line)
    with pytest.raises(ValueError, match=r"trace\.jsonl") as error:
        TimedTrace(path=trace).workload()
    assert message in str(error.value)


def test_an_empty_file_holds_no_requests(trace: Path) -> None:
    trace.write_text("\n")
    with pytest.raises(ValueError, match="holds no requests"):
        TimedTrace(path=trace).workload()
