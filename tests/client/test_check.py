"""Verdicts by playbook: what a server says, through what hop, and what the client makes of it."""

import random
from collections.abc import Sequence

import pytest
from chat_streams import DONE, SSE, Timed, chunk, event, paced, role, transcript, usage
from mockvllm_client.check import Kind, judge, warnings
from mockvllm_client.transcript import End, Transcript
from mockvllm_client.wireshape import Ending, Piece, buffer, pour
from test_transcript import replayed


def through(name: str, pieces: Sequence[Timed]) -> Transcript:
    """What comes of `pieces` behind a hop with this buffer; the body ends with its last piece."""
    sent = [*(Piece(at, data) for at, data in pieces), Piece(pieces[-1][0], ending=Ending.EOF)]
    return transcript([(piece.at, piece.data) for piece in pour(buffer(name)(), sent) if piece.data])


PACES = [
    pytest.param(30, 0.5, 0.04, id="lesson"),
    pytest.param(60, 0.2, 0.02, id="quick"),
    pytest.param(200, 1.0, 0.005, id="fast"),
    pytest.param(24, 0.05, 0.1, id="slow"),
]
HOPS = [
    ("off", "STREAMING"),
    ("events:1", "STREAMING"),
    ("full", "BUFFERED(full)"),
    ("bytes:1000000", "BUFFERED(full)"),
    ("time:60000", "BUFFERED(full)"),
    ("events:500", "BUFFERED(full)"),
    ("bytes:700", "BUFFERED(bytes)"),
    ("bytes:1024", "BUFFERED(bytes)"),
    ("time:260", "BUFFERED(time)"),
    ("time:330", "BUFFERED(time)"),
    ("events:3", "BUFFERED(events)"),
    ("events:8", "BUFFERED(events)"),
]


@pytest.mark.parametrize(("tokens", "ttft", "itl"), PACES)
@pytest.mark.parametrize(("hop", "verdict"), HOPS)
def test_every_hop_is_named(hop: str, verdict: str, tokens: int, ttft: float, itl: float) -> None:
    assert str(judge(through(hop, paced(tokens, ttft, itl)))) == verdict


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    ("hop", "verdict"), [("off", "STREAMING"), ("full", "BUFFERED(full)"), ("time:300", "BUFFERED(time)")]
)
def test_a_pace_that_is_not_even_changes_nothing(hop: str, verdict: str, seed: int) -> None:
    draw = random.Random(seed)
    at, pieces = 0.0, []
    for planned, data in paced(40):
        at = max(at, planned + abs(draw.gauss(0, 0.01)))
        pieces.append((at, data))
    assert str(judge(through(hop, pieces))) == verdict


def test_a_client_that_was_held_up_now_and_then_still_sees_a_stream() -> None:
    pieces = [(0.9 if 0.8 < at < 0.9 else at, data) for at, data in paced(40)]
    assert judge(transcript(pieces)).kind is Kind.STREAMING


def test_a_stall_that_nobody_sees_is_none() -> None:
    """Six tokens 5 ms apart, three of which a busy client reads together."""
    pieces = [(max(at, 0.115) if at > 0.104 else at, data) for at, data in paced(6, ttft=0.1, itl=0.005)]
    assert judge(transcript(pieces)).kind is Kind.STREAMING
    slower = [(max(at, 0.4) if at > 0.15 else at, data) for at, data in paced(6, ttft=0.1, itl=0.1)]
    assert judge(transcript(slower)).kind is Kind.BUFFERED


def test_a_server_s_own_times_show_a_stall_for_what_it_is() -> None:
    times = [0.1 + 0.004 * i for i in range(5)]
    late = [(0.117, data) for _, data in paced(5, ttft=0.1, itl=0.004)]
    assert judge(transcript(late)).kind is Kind.BUFFERED
    assert judge(transcript(late), sent=times).kind is Kind.STREAMING


def test_the_numbers_stand_behind_the_verdict() -> None:
    verdict = judge(through("events:10", paced(29)))
    assert verdict.evidence["token_events"] == 29
    assert verdict.evidence["bursts"] == 3
    assert verdict.evidence["largest_burst"] == 10
    assert verdict.evidence["median_burst_gap_ms"] == pytest.approx(400)
    assert "29 tokens in 3 bursts" in verdict.why


def test_a_server_that_says_all_at_once_looks_buffered_until_it_says_so() -> None:
    at_once = paced(30, ttft=0.5, itl=0.0)
    assert str(judge(transcript(at_once))) == "BUFFERED(full)"
    assert judge(transcript(at_once), sent=[0.5] * 30).kind is Kind.STREAMING


def test_what_the_server_sent_does_not_excuse_the_proxy() -> None:
    paced_by_server = [0.5 + 0.04 * i for i in range(30)]
    assert str(judge(through("full", paced()), sent=paced_by_server)) == "BUFFERED(full)"
    in_fours = [0.5 + 0.16 * (i // 4) for i in range(30)]
    assert str(judge(through("full", paced()), sent=in_fours)) == "BUFFERED(full)"


def test_choices_that_speak_in_step_are_no_burst() -> None:
    pieces = [(0.5 + 0.04 * step, chunk({"content": "x"}, index=index)) for step in range(20) for index in range(3)]
    ends = [(1.3, chunk({"content": ""}, "length", index=index)) for index in range(3)]
    assert judge(transcript([*pieces, *ends, (1.3, DONE)])).kind is Kind.STREAMING
    assert str(judge(through("full", [*pieces, *ends, (1.3, DONE)]))) == "BUFFERED(full)"


def test_compression_that_holds_is_named() -> None:
    held = transcript([(1.66, data) for _, data in paced()], headers=SSE | {"content-encoding": "gzip"})
    assert str(judge(held)) == "BUFFERED(gzip)"
    flowing = transcript(paced(), headers=SSE | {"content-encoding": "gzip"})
    assert judge(flowing).kind is Kind.STREAMING


@pytest.mark.parametrize("pieces", [paced(1), paced(2), paced(13, ttft=0.001, itl=0.0)])
def test_too_short_to_judge_is_complete(pieces: list[Timed]) -> None:
    verdict = judge(transcript(pieces))
    assert (verdict.kind, verdict.ok) == (Kind.COMPLETE, True)


ERROR = event({"error": {"message": "boom", "type": "InternalServerError", "param": None, "code": 500}})
TALK = paced()
BROKEN = [
    pytest.param([(0.1, ERROR), (0.1, DONE)], End.COMPLETE, "INBAND_ERROR(500)", id="error before any chunk"),
    pytest.param(
        [*TALK[:4], (0.7, ERROR), (0.7, DONE)], End.COMPLETE, "INBAND_ERROR(500)", id="error after three tokens"
    ),
    pytest.param([(0.1, b'{"error":"x"}')], End.COMPLETE, "MALFORMED(stray)", id="json without framing"),
    pytest.param([*TALK[:4], (0.7, b"<html>\n")], End.INCOMPLETE, "MALFORMED(stray)", id="html in the stream"),
    pytest.param([*TALK[:4], (0.7, b"data: {oops\n\n"), *TALK[4:]], End.COMPLETE, "MALFORMED(json)", id="bad json"),
    pytest.param(TALK[:9], End.RESET, "TRUNCATED(reset)", id="reset"),
    pytest.param(TALK[:9], End.INCOMPLETE, "TRUNCATED(eof)", id="connection closed within the body"),
    pytest.param(TALK[:9], End.IDLE, "TRUNCATED(idle)", id="silence"),
    pytest.param([], End.IDLE, "TRUNCATED(idle)", id="silence from the start"),
    pytest.param(TALK[:9], End.COMPLETE, "TRUNCATED(no_finish)", id="clean end without a finish"),
    pytest.param([*TALK[:9], (0.9, DONE)], End.COMPLETE, "TRUNCATED(no_finish)", id="DONE without a finish"),
    pytest.param(TALK[:-1], End.COMPLETE, "TRUNCATED(no_done)", id="no DONE"),
    pytest.param(paced(finish="abort"), End.COMPLETE, "ABORTED", id="aborted by the server"),
    pytest.param([], End.COMPLETE, "EMPTY", id="nothing"),
    pytest.param([(0.1, usage(3, 0)), (0.1, DONE)], End.COMPLETE, "EMPTY", id="usage only"),
    pytest.param(
        [(0.1, role()), (0.1, chunk({"content": ""}, "length")), (0.1, DONE)], End.COMPLETE, "EMPTY", id="no content"
    ),
]


@pytest.mark.parametrize(("pieces", "end", "verdict"), BROKEN)
def test_a_broken_stream_is_never_taken_for_an_answer(pieces: list[Timed], end: End, verdict: str) -> None:
    found = judge(transcript(pieces, end))
    assert (str(found), found.ok) == (verdict, False)
    assert found.why


def test_stray_bytes_are_shown() -> None:
    assert '{"error":"boom"}' in judge(transcript([(0.1, b'{"error":"boom"}')])).why


@pytest.mark.parametrize("status", [400, 401, 404, 429, 503])
def test_a_refusal_says_why(status: int) -> None:
    verdict = judge(transcript([(0.1, b'{"error":{"message":"because"}}')], status=status))
    assert (str(verdict), verdict.why) == (f"HTTP_ERROR({status})", "because")


def test_a_refusal_in_html_shows_its_beginning() -> None:
    assert judge(transcript([(0.1, b"<h1>502 Bad Gateway</h1>")], status=502)).why == "<h1>502 Bad Gateway</h1>"


@pytest.mark.parametrize(
    ("name", "verdict"),
    [
        ("chat_stream/long_40", "STREAMING"),
        ("chat_stream/usage_eos", "STREAMING"),
        ("chat_stream/n2_usage", "STREAMING"),
        ("completions/stream_usage", "STREAMING"),
        ("interval/chat_eos_usage", "STREAMING"),
        ("chat_stream/empty_answer", "EMPTY"),
        ("dev/stream_aborted", "ABORTED"),
        ("crash/keepalive_trigger", "INBAND_ERROR(500)"),
        ("dev/chat_stream_while_paused", "INBAND_ERROR(503)"),
    ],
)
def test_recordings_of_the_real_server(name: str, verdict: str) -> None:
    assert str(judge(replayed(name))) == verdict


@pytest.mark.parametrize(
    ("headers", "warning"),
    [
        ({}, "content-type of the stream is missing"),
        ({"content-type": "application/json"}, "content-type of the stream is application/json"),
        ({"content-type": "text/event-stream"}, "no charset"),
    ],
)
def test_odd_headers_are_a_warning_and_the_text_is_read_all_the_same(headers: dict[str, str], warning: str) -> None:
    noted = transcript([(0.1, chunk({"content": "你好🫠"}, "stop")), (0.1, usage(1, 3)), (0.1, DONE)], headers=headers)
    assert noted.answer.first.text == "你好🫠"
    assert [text for text in warnings(noted) if text.startswith(warning)]
    assert judge(noted).ok


def test_keep_alive_comments_and_empty_events_are_counted_in_a_warning() -> None:
    noted = transcript([(0.1, b": keep-alive\n\n: keep-alive\n\ndata:\n\n"), *TALK[:-2], (9.0, DONE)])
    assert warnings(noted) == [
        "2 comments (keep-alive)",
        "1 events without data",
        "no usage: every token event counts as one token",
    ]
    assert judge(noted).kind is Kind.STREAMING


@pytest.mark.parametrize(("head", "held"), [(0.001, False), (0.3, False), (0.4999, True), (0.5, True)])
def test_a_head_that_comes_with_the_first_event_was_held(head: float, held: bool) -> None:
    noted = transcript(TALK)
    noted.headers_at = head
    assert any("the head came with the first event" in text for text in warnings(noted)) is held


def test_a_good_stream_has_no_warning() -> None:
    assert warnings(transcript(TALK)) == []
