"""What a client notes: real recordings with their real times, and figures by the formulas."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from chat_streams import DONE, SSE, Timed, chunk, paced, role, transcript, usage
from hypothesis import given
from hypothesis import strategies as st
from mockvllm_client.bursts import bursts
from mockvllm_client.measure import Distribution
from mockvllm_client.transcript import End, Transcript

LINES = (Path(__file__).parents[1] / "data/client/timed.jsonl").read_text().splitlines()
RECORDED: dict[str, dict[str, Any]] = {case["case"]: case for case in map(json.loads, LINES)}


def replayed(name: str) -> Transcript:
    case, start, pieces = RECORDED[name], 0, []
    body = case["body"].encode()
    for milliseconds, size in case["arrival_ms"]:
        pieces.append((milliseconds / 1000, body[start : start + size]))
        start += size
    assert start == len(body)
    return transcript(pieces, headers=dict(case["headers"]))


@pytest.mark.parametrize(
    ("name", "tokens"), [("chat_stream/long_40", 40), ("chat_stream/usage_eos", 14), ("completions/stream_usage", 8)]
)
def test_a_recorded_stream_shows_the_step_of_its_engine(name: str, tokens: int) -> None:
    noted = replayed(name)
    record = noted.record()
    assert record is not None and record.tpot is not None
    assert (len(noted.token_times), record.output_tokens) == (tokens, tokens)
    assert record.tpot * 1000 == pytest.approx(RECORDED[name]["step_ms"], rel=0.05)
    assert record.ttft == pytest.approx(RECORDED[name]["arrival_ms"][1][0] / 1000, abs=0.001)


def test_usage_counts_tokens_where_an_event_holds_several() -> None:
    record = replayed("interval/chat_eos_usage").record()  # stream_interval 5
    assert record is not None and record.tpot is not None
    assert (record.output_tokens, len(record.itl)) == (14, 3)
    assert record.tpot * 1000 == pytest.approx(20, rel=0.05)
    assert Distribution.of(record.itl).median * 1000 == pytest.approx(100, rel=0.05)


def test_the_role_chunk_does_not_start_the_clock_and_the_usage_chunk_does_not_stop_it() -> None:
    pieces = [
        (0.1, role()),
        (0.8, chunk({"content": "a"})),
        (0.9, chunk({"content": "b"}, "stop")),
        (2.0, usage(5, 2)),
        (2.0, DONE),
    ]
    record = transcript(pieces).record()
    assert record is not None
    assert (record.ttft, record.latency, record.prompt_tokens) == (0.8, 0.9, 5)
    assert record.itl == pytest.approx([0.1])


def test_thinking_starts_the_clock_and_both_first_times_are_kept() -> None:
    noted = transcript([(0.2, chunk({"reasoning": "hm"})), (0.7, chunk({"content": "a"}, "stop"))])
    record = noted.record()
    assert record is not None
    assert (record.ttft, noted.first("reasoning"), noted.first("text")) == (0.2, 0.2, 0.7)


def test_without_usage_each_token_event_is_a_token() -> None:
    record = transcript(paced(12)[:-2]).record()
    assert record is not None
    assert (record.output_tokens, record.prompt_tokens) == (12, 0)


@pytest.mark.parametrize("pieces", [[], [(0.1, DONE)], [(0.1, role()), (0.1, chunk({}, "stop")), (0.1, DONE)]])
def test_no_token_no_record(pieces: list[Timed]) -> None:
    assert transcript(pieces).record() is None


def test_bytes_with_the_time_of_the_last_ones_are_of_the_same_read() -> None:
    noted = transcript([(0.5, role()), (0.5, chunk({"content": "a"})[:9]), (0.6, chunk({"content": "a"})[9:])])
    assert [(read.at, read.events, read.whole) for read in noted.reads] == [(0.5, 1, False), (0.6, 1, True)]
    assert noted.reads[0].size == len(role()) + 9


def test_reads_less_than_a_moment_apart_are_one_burst() -> None:
    pieces = [
        (0.5, role()),
        (0.5004, chunk({"content": "a"})),
        (0.5009, chunk({"content": "b"})),
        (0.6, chunk({"content": "c"})),
    ]
    assert [(burst.tokens, burst.events) for burst in bursts(transcript(pieces))] == [(2, 3), (1, 1)]


def test_a_refusal_is_no_stream_whatever_was_asked() -> None:
    noted = transcript([(0.1, b'{"error":{"message":"no such model","code":404}}')], status=404)
    assert (noted.streamed, noted.answer.error, noted.sse.stray_lines) == (
        False,
        {"message": "no such model", "code": 404},
        0,
    )


def test_header_names_have_no_case() -> None:
    assert (
        transcript([], headers={"Content-Type": "Text/Event-Stream; charset=utf-8"}).content_type == "text/event-stream"
    )


@given(st.lists(st.integers(0, 4000), max_size=60), st.integers(1, 12))
def test_however_a_stream_is_cut_text_usage_and_counts_are_the_same(cuts: list[int], tokens: int) -> None:
    body = b"".join(data for _, data in paced(tokens))
    edges = sorted({0, len(body), *(cut for cut in cuts if cut < len(body))})
    noted, whole = Transcript(), transcript([(0.1, body)], headers=SSE)
    noted.open(0.0, 200, SSE)
    for number, (start, stop) in enumerate(pairwise(edges)):
        noted.feed(number / 10, body[start:stop])
    noted.close(9.0, End.COMPLETE)
    assert noted.answer == whole.answer
    assert noted.sse == whole.sse
    assert sum(read.events for read in noted.reads) == tokens + 3
    assert sum(read.size for read in noted.reads) == len(body)
