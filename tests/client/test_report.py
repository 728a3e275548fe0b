"""The report: the chain on one clock, the figures, and the same as JSON."""

import io
import json
from typing import Any

import pytest
from chat_streams import DONE, chunk, paced, role, transcript, usage
from mockvllm_client.chain import delays, links, skew
from mockvllm_client.check import judge
from mockvllm_client.journal import Entry
from mockvllm_client.report import Printer, Report
from mockvllm_client.transcript import End

ACCEPTED = 1_790_000_000.0


def entry(**changes: Any) -> Entry:
    """The journal of lesson L2: 2,000 + 30 tokens, 0.1 s of queue, the first token at 0.5 s, 40 ms a step."""
    events = [{"t": 0.5 + 0.04 * i, "tokens": 1, "bytes": 210} for i in range(30)]
    raw = {
        "id": "chatcmpl-1", "state": "finished", "finish_reason": "length", "accepted_at": ACCEPTED,
        "prompt_tokens": 2000, "cached_tokens": 0, "completion_tokens": 30,
        "blocks": {"held": 127, "block_size": 16, "free_after": 13045},
        "timeline": {"accepted": 0.0, "queued": 0.0004, "scheduled": 0.1, "first_token": 0.5, "finished": 1.66,
                     "blocks_freed": 1.66, "client_closed": None},
        "events": events, "request": {"method": "POST", "headers": [], "body": '{"max_tokens":30}'},
    }  # fmt: skip
    return Entry(raw | changes)


def lesson(started: float = ACCEPTED - 0.002) -> Any:
    noted = transcript([(at + 0.003, data) for at, data in paced(30)])
    noted.started_at = started
    noted.headers_at = 0.004
    return noted


def test_the_chain_of_the_lesson_on_the_server_s_clock() -> None:
    chain = [(round(link.at, 3), link.side, link.what) for link in links(lesson(), entry())]
    assert chain == [
        (-0.002, "client", "sends the request"),
        (0.0, "server", "tokenizer: 2000 prompt tokens, into the queue"),
        (0.1, "server", "scheduler: gets its seat"),
        (0.5, "server", "prefill done: its KV is in 125 blocks of 16; token 1 leaves"),
        (0.501, "client", "role ''"),
        (0.501, "client", "token ' x0'"),
        (0.541, "client", "28 more events, one each 40 ms"),
        (1.66, "server", "end: 30 tokens = max_tokens -> length"),
        (1.66, "server", "127 blocks freed, 13045 free"),
        (1.661, "client", "finish ' xxxx29'"),
        (1.661, "client", "usage {2000, 30, 2030} (prompt_tokens, completion_tokens, total_tokens)"),
        (1.661, "client", "[DONE]"),
        (1.661, "client", "the body ends (complete)"),
    ]


@pytest.mark.parametrize(
    ("prompt", "size", "blocks"),
    [(1, 16, "1 block"), (16, 16, "1 block"), (17, 16, "2 blocks"), (2000, 32, "63 blocks")],
)
def test_the_blocks_of_a_prompt(prompt: int, size: int, blocks: str) -> None:
    chain = links(lesson(), entry(prompt_tokens=prompt, blocks={"held": 9, "block_size": size, "free_after": 1}))
    assert f"prefill done: its KV is in {blocks} of {size}; token 1 leaves" in [link.what for link in chain]


def test_delays_are_counted_token_by_token_on_one_clock() -> None:
    assert delays(lesson(), entry()) == pytest.approx([0.001] * 30, abs=1e-6)
    held = transcript([(1.7, data) for _, data in paced(30)])
    held.started_at = ACCEPTED
    late = delays(held, entry())
    assert (late[0], late[-1]) == pytest.approx((1.2, 0.04), abs=1e-6)


def test_delays_need_both_sides_to_count_alike() -> None:
    assert delays(transcript(paced(29)), entry()) == []


def test_without_a_journal_there_is_the_client_s_side_alone() -> None:
    chain = links(lesson())
    assert {link.side for link in chain} == {"client"}
    assert [round(link.at, 3) for link in chain][:2] == [0.0, 0.503]


def test_cached_tokens_and_a_client_that_left_are_said() -> None:
    timeline = {"accepted": 0.0, "scheduled": 0.1, "client_closed": {"t": 0.2, "how": "rst"}}
    chain = links(lesson(), entry(cached_tokens=1984, timeline=timeline))
    texts = [link.what for link in chain if link.side == "server"]
    assert texts[1:] == ["scheduler: gets its seat, 1984 tokens from the prefix cache", "the client left (rst)"]


@pytest.mark.parametrize(
    ("started", "expected"),
    [(ACCEPTED - 0.002, 0.0), (ACCEPTED - 0.004, 0.0), (ACCEPTED + 5, -5.0), (ACCEPTED - 5, 4.996)],
)
def test_clocks_that_disagree(started: float, expected: float) -> None:
    noted = lesson(started)
    assert skew(noted, entry()) == pytest.approx(expected)
    sent = next(link for link in links(noted, entry()) if link.what == "sends the request")
    assert -0.0041 <= sent.at <= 0.0001  # before it was accepted, and no earlier than the answer allows


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ('{"max_completion_tokens":30,"max_tokens":7}', "end: 30 tokens = max_tokens -> stop"),
        ('{"max_tokens":31}', "end: 30 tokens -> stop"),
        ("{}", "end: 30 tokens -> stop"),
        ("no json", "end: 30 tokens -> stop"),
        ("[]", "end: 30 tokens -> stop"),
    ],
)
def test_the_limit_is_named_only_if_it_was_met(body: str, text: str) -> None:
    chain = links(lesson(), entry(finish_reason="stop", request={"body": body}))
    assert text in [link.what for link in chain]


def test_all_at_once_is_said_so() -> None:
    noted = transcript([(1.66, data) for _, data in paced(30)])
    assert any("28 more events, all at once" in link.what for link in links(noted))


@pytest.mark.parametrize(("state", "status"), [("rejected", 400), ("rejected", 500), ("failed", 404)])
def test_no_scheduler_has_seen_what_was_refused(state: str, status: int) -> None:
    server = [link.what for link in links(lesson(), entry(state=state, status=status)) if link.side == "server"]
    assert server == [f"refuses the request: {status}"]


@pytest.mark.parametrize("scale", [10, 0.5, None])
def test_there_is_no_chain_of_two_clocks(scale: float | None) -> None:
    assert links(lesson(), entry(time_scale=scale)) == []
    assert delays(lesson(), entry(time_scale=scale)) == []
    assert links(lesson(), entry(time_scale=1)) == links(lesson(), entry())


def test_what_was_sent_is_told_in_real_seconds() -> None:
    assert entry(time_scale=10).sent()[:2] == pytest.approx([0.05, 0.054])
    assert entry(time_scale=None).sent() == []


def report(noted: Any, journal: Entry | None = None) -> Report:
    if journal is None:
        return Report(noted, judge(noted), links(noted), no_journal="the server answers 404")
    return Report(noted, judge(noted), links(noted, journal), dict(journal.raw), delays(noted, journal))


def test_the_figures_of_the_lesson_as_json() -> None:
    data = json.loads(json.dumps(report(lesson(), entry()).as_json()))
    assert data["text"].split()[::29] == ["x0", "xxxx29"]
    assert (data["finish_reason"], data["verdict"]) == ("length", "STREAMING")
    assert data["usage"] == {"prompt_tokens": 2000, "total_tokens": 2030, "completion_tokens": 30}
    figures = {name: data[name] for name in ("ttft_s", "tpot_ms", "itl_p50_ms", "e2e_s", "tokens_per_s")}
    expected = {"ttft_s": 0.503, "tpot_ms": 40.0, "itl_p50_ms": 40.0, "e2e_s": 1.663, "tokens_per_s": 30 / 1.663}
    assert figures == pytest.approx(expected, abs=1e-3)
    assert (data["events"], data["reads"], data["max_events_per_read"]) == (33, 30, 3)
    assert (data["delay_p50_ms"], data["delay_max_ms"]) == (pytest.approx(1.0, abs=0.01), pytest.approx(1.0, abs=0.01))
    assert data["journal"]["blocks"]["held"] == 127
    assert [link["t"] for link in data["chain"]][:3] == [-0.002, 0.0, 0.1]


def test_times_of_thinking_and_of_content() -> None:
    thought = [(0.2, role()), (0.2, chunk({"reasoning": "hm"})), (0.7, chunk({"content": "a"}, "stop")), (0.7, DONE)]
    data = report(transcript(thought)).as_json()
    assert [data[f"ttft_{name}s"] for name in ("", "reasoning_", "content_")] == [0.2, 0.2, 0.7]
    assert (data["reasoning"], data["text"]) == ("hm", "a")


def test_a_stream_without_tokens_has_no_figures_and_does_not_fail() -> None:
    empty = report(transcript([(0.1, role()), (0.1, usage(3, 0)), (0.1, DONE)], End.INCOMPLETE))
    data = empty.as_json()
    assert {data[name] for name in ("ttft_s", "tpot_ms", "itl_p50_ms", "tokens_per_s")} == {None}
    assert "TTFT" not in "".join(empty.lines())


def test_a_single_token_has_a_ttft_and_no_tpot() -> None:
    data = report(transcript(paced(1))).as_json()
    assert (data["ttft_s"], data["tpot_ms"], data["itl_p50_ms"], data["e2e_s"]) == (0.5, None, None, 0.5)


def test_the_report_for_a_person() -> None:
    text = "\n".join(report(lesson()).lines())
    for line in (
        "finish        length",
        "tokens        2000 prompt, 30 completion",
        "TTFT          0.503 s",
        "TPOT          40.0 ms",
        "E2E           1.663 s",
        "tokens/s      18.0",
        "events        33 in 30 reads, at most 3 in one",
        "verdict       STREAMING: 1.00 tokens at a time",
        "no journal: the server answers 404",
    ):
        assert line in text.splitlines() or pytest.fail(f"{line!r} is not in\n{text}")


def test_both_sides_are_in_the_report_for_a_person() -> None:
    lines = report(lesson(), entry()).lines()
    assert "on the way    1.0 ms, 1.0 ms (p50, max)" in lines
    assert "    +0.100 s  server  scheduler: gets its seat" in lines


def test_tool_calls_are_shown() -> None:
    call = {"index": 0, "id": "c", "function": {"name": "f", "arguments": '{"a":1}'}}
    lines = report(transcript([(0.5, chunk({"tool_calls": [call]}, "tool_calls")), (0.5, DONE)])).lines()
    assert lines[0] == 'tool call     f({"a":1})'


def test_thinking_is_told_from_the_answer() -> None:
    out = io.StringIO()
    printer = Printer(out)
    deltas = [{"reasoning": "let me"}, {"reasoning": " see"}, {"content": "Yes"}, {"content": "."}]
    for delta in deltas:
        printer.show(transcript([(0.1, chunk(delta))]).arrivals)
    assert out.getvalue() == "(thinking) let me see\nYes."
