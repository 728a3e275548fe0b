"""The formulas against what `vllm bench serve` saved, against numpy, and against counting by hand."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mockvllm_client.measure import (
    Distribution,
    Record,
    Summary,
    count_good,
    peak_concurrency,
    peak_output_tokens_per_s,
    quantile,
    summarize,
    whole_second,
)

RESULTS = sorted((Path(__file__).parents[1] / "data" / "client" / "bench").glob("*.json"))
SLO_MS = {"ttft": 1000.0, "tpot": 50.0}
ARRAYS = ("ttfts", "itls", "latencies", "start_times", "queue_times", "input_lens", "output_lens")


def records(saved: dict[str, list[float]]) -> list[Record]:
    rows = zip(*(saved[name] for name in ARRAYS), strict=True)
    return [
        Record(
            start=start,
            ttft=ttft,
            latency=latency,
            itl=itl,
            arrival=start - queued,
            prompt_tokens=had,
            output_tokens=said,
        )
        for ttft, itl, latency, start, queued, had, said in rows
    ]


@pytest.mark.parametrize("path", RESULTS, ids=lambda path: path.stem)
def test_every_aggregate_that_vllm_saved_comes_out_of_its_arrays(path: Path) -> None:
    saved = json.loads(path.read_text())
    summary = summarize(
        records(saved),
        saved["duration"],
        metrics=("ttft", "tpot", "itl", "e2el"),
        percentiles=(50, 95, 99),
        slo_ms=SLO_MS,
    )
    figures = summary.as_bench()
    assert len(figures) == 12 + 4 * 6
    assert figures == {name: pytest.approx(saved[name], rel=1e-9) for name in figures}


def test_there_are_recorded_results() -> None:
    assert len(RESULTS) == 3


def record(ttft: float = 0.5, gaps: tuple[float, ...] = (), tokens: int | None = None, start: float = 0.0) -> Record:
    return Record(start=start, ttft=ttft, itl=gaps, latency=ttft + sum(gaps), output_tokens=tokens or 1 + len(gaps))


def test_tpot_takes_tokens_and_itl_takes_events() -> None:
    two_at_a_time = record(gaps=(0.08, 0.08, 0.08), tokens=7)
    assert two_at_a_time.tpot == pytest.approx(0.04)
    assert Distribution.of(two_at_a_time.itl).median == pytest.approx(0.08)


def test_a_single_token_has_no_tpot_and_counts_as_none_in_it() -> None:
    figures = summarize([record(), record(gaps=(0.05,))], 1.0, metrics=("tpot",), percentiles=()).as_bench()
    assert record().tpot is None
    assert figures["mean_tpot_ms"] == pytest.approx(50.0)


def test_a_single_token_meets_any_tpot() -> None:
    assert count_good([record()], {"tpot": 1.0}) == 1


@pytest.mark.parametrize(
    ("slo", "expected"), [({"ttft": 500}, 2), ({"ttft": 499}, 1), ({"tpot": 40}, 2), ({"ttft": 500, "e2el": 550}, 1)]
)
def test_goodput_wants_every_limit_kept(slo: dict[str, float], expected: int) -> None:
    assert (
        count_good([record(gaps=(0.04, 0.04)), record(ttft=0.4, gaps=(0.04,)), record(ttft=2, gaps=(1,))], slo)
        == expected
    )


def test_goodput_knows_three_names() -> None:
    with pytest.raises(ValueError, match="'itl' is none of ttft, tpot, e2el"):
        count_good([], {"itl": 1.0})


def test_failed_requests_count_as_failed_and_nowhere_else() -> None:
    failed = Record(start=0, ttft=9, latency=99, output_tokens=50, prompt_tokens=70, success=False)
    summary = summarize([record(gaps=(0.04,)), failed], 2.0)
    assert (summary.completed, summary.failed) == (1, 1)
    assert (summary.total_input_tokens, summary.total_output_tokens, summary.max_concurrent_requests) == (0, 2, 1)


def test_nothing_gives_zeros() -> None:
    figures = summarize([], 1.0, metrics=("ttft", "itl")).as_bench()
    assert figures.pop("duration") == 1.0
    assert figures.pop("request_goodput") is None
    assert set(figures.values()) == {0}


def test_percentiles_are_named_as_vllm_names_them() -> None:
    summary: Summary = summarize([record()], 1.0, metrics=("ttft",), percentiles=(50, 99.9))
    assert [name for name in summary.as_bench() if name.startswith("p")] == ["p50_ttft_ms", "p99.9_ttft_ms"]


def test_time_held_back_by_the_client_itself() -> None:
    waited = Record(start=5.0, arrival=3.5, ttft=0.1, latency=0.2, output_tokens=1)
    metrics = ("client_queue_time", "e2el_including_client_queue")
    figures = summarize([waited], 1.0, metrics=metrics, percentiles=()).as_bench()
    assert figures["mean_client_queue_time_ms"] == pytest.approx(1500)
    assert figures["mean_e2el_including_client_queue_ms"] == pytest.approx(1700)


def test_peak_tokens_are_counted_in_whole_seconds_since_the_first_start() -> None:
    crossing = record(ttft=0.9, gaps=(0.05, 0.1, 0.05), start=100.0)  # at 0.9 and 0.95 | 1.05 and 1.1
    late = record(ttft=0.5, start=100.6)  # at 1.1
    assert peak_output_tokens_per_s([crossing]) == 2
    assert peak_output_tokens_per_s([crossing, late]) == 3


@pytest.mark.parametrize("gap", [0.02, 0.025, 0.04, 0.05, 0.1, 0.2])
def test_a_second_begins_where_it_should_whatever_sums_of_floats_say(gap: float) -> None:
    talker = record(ttft=gap, gaps=(gap,) * round(20 / gap))
    assert peak_output_tokens_per_s([talker]) == round(1 / gap)


def test_who_ends_where_a_second_begins_touches_it() -> None:
    start, ttft = 0.1, sum([0.1] * 9)
    assert start + ttft < 1.0
    assert peak_concurrency([record(), record(ttft, start=start), record(start=1.2), record(start=1.4)]) == 3


def test_peak_concurrency_counts_whoever_touches_a_second() -> None:
    one_after_the_other = [record(ttft=0.4, start=start) for start in (10.0, 10.5, 11.2)]
    assert peak_concurrency(one_after_the_other) == 2


def test_tokens_per_second_includes_the_wait() -> None:
    lesson = record(ttft=0.5, gaps=(0.04,) * 29)
    assert lesson.tokens_per_s == pytest.approx(30 / 1.66)


VALUES = st.lists(st.floats(0, 1e6), min_size=1, max_size=60)


@given(VALUES, st.floats(0, 100))
def test_statistics_are_numpy_s(values: list[float], percentile: float) -> None:
    found = Distribution.of(values, (percentile,))
    expected = [np.mean(values), np.median(values), np.std(values), np.percentile(values, percentile)]
    assert [found.mean, found.median, found.std, found.percentiles[percentile]] == pytest.approx(expected, abs=1e-6)


@given(VALUES, st.floats(0, 1), st.floats(0, 1))
def test_quantiles_rise_and_stay_within(values: list[float], low: float, high: float) -> None:
    ordered = sorted(values)
    a, b = sorted((low, high))
    assert ordered[0] <= quantile(ordered, a) <= quantile(ordered, b) * (1 + 1e-12) <= ordered[-1] * (1 + 1e-9)


SPANS = st.lists(
    st.tuples(st.floats(0, 20), st.floats(0.001, 5), st.lists(st.floats(0, 2), max_size=5)), min_size=1, max_size=12
)


@given(SPANS)
def test_peaks_are_those_of_counting_second_by_second(spans: list[tuple[float, float, list[float]]]) -> None:
    run = [record(ttft, tuple(gaps), start=start) for start, ttft, gaps in spans]
    origin = min(one.start for one in run)
    spans_in_s = [(one.start - origin, one.start + one.latency - origin) for one in run]
    touched = [range(whole_second(first), whole_second(last) + 1) for first, last in spans_in_s]
    assert peak_concurrency(run) == max(sum(second in span for span in touched) for second in range(60))
    assert peak_output_tokens_per_s(run) <= sum(1 + len(one.itl) for one in run)
