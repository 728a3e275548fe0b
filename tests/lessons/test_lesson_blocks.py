"""KV blocks and preemption: the textbook rule beside the real scheduler."""

import json
import lzma
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lesson import run, show

from mockvllm.simulation.closed_loop import ClosedLoop
from mockvllm.simulation.lesson_blocks import Case
from mockvllm.simulation.textbook import Textbook

RECORDINGS = Path(__file__).parent.parent / "data" / "sched" / "0.33.0.jsonl.xz"
PREEMPTED = {"preemptions": 130, "recomputed_tokens": 273_100, "steps": 2740, "peak_running": 104}
UNDISTURBED = {"preemptions": 0, "recomputed_tokens": 0}


def figures(row: dict[str, Any], scheduler: str) -> dict[str, Any]:
    return {key: value for key, value in row[scheduler].items() if key != "preemptions_by_class"}


@pytest.fixture(scope="module")
def rows() -> list[dict[str, Any]]:
    shown: list[dict[str, Any]] = show("blocks")
    return shown


def test_the_textbook_gives_the_lessons_figures(rows: list[dict[str, Any]]) -> None:
    assert [(row["in_flight"], row["policy"], row["batch"], row["kv_dtype"]) for row in rows] == [
        (72, "fcfs", 0, "bf16"),
        (92, "fcfs", 0, "bf16"),
        (128, "fcfs", 0, "bf16"),
        (128, "fcfs", 0, "fp8"),
        (128, "fcfs", 56, "bf16"),
        (128, "priority", 56, "bf16"),
    ]
    assert [figures(row, "textbook") for row in rows] == [
        {**UNDISTURBED, "steps": 3487, "peak_running": 72},
        {**UNDISTURBED, "steps": 2740, "peak_running": 92},
        PREEMPTED,
        {**UNDISTURBED, "steps": 1993, "peak_running": 128},
        PREEMPTED,
        PREEMPTED,
    ]
    assert [row["textbook"]["preemptions_by_class"] for row in rows[3:]] == [
        {"chat": 0, "batch": 0},
        {"chat": 72, "batch": 58},
        {"chat": 0, "batch": 130},
    ]


def test_like_with_like_both_stop_sending(rows: list[dict[str, Any]]) -> None:
    """The real scheduler's figures are those of the recordings: asynchronous, a budget of 8192."""
    vectors = map(json.loads, lzma.decompress(RECORDINGS.read_bytes()).splitlines())
    recorded = {vector["scenario"]["name"]: vector["trace"]["summary"] for vector in vectors}
    names = {0: "ref_n72_priority_b8192_async", 1: "ref_n92_fcfs_b8192_async", 2: "ref_n128_fcfs_b8192_async"}
    for index, name in names.items():
        summary = recorded[name]
        assert figures(rows[index], "vllm") == {
            "preemptions": summary["preemptions"],
            "recomputed_tokens": summary["recomputed_tokens"],
            "steps": summary["steps_total"],
            "peak_running": summary["peak_running"],
        }
    assert rows[2]["textbook_total_sent"]["preemptions"] == 118
    assert rows[2]["textbook_total_sent"]["recomputed_tokens"] == 247_790
    assert rows[5]["vllm"]["preemptions_by_class"]["chat"] == 0


def test_a_case_by_flag() -> None:
    (row,) = show(
        *("blocks", "--in-flight", 20, "--prompt", 100, "--output", 60, "--total", 90, "--max-num-seqs", 15),
        *("--batch", 17, "--policy", "priority", "--blocks", 80),
    )
    assert (row["in_flight"], row["policy"], row["batch"]) == (20, "priority", 17)
    assert row["textbook"]["preemptions_by_class"] == {"chat": 0, "batch": row["textbook"]["preemptions"]}
    assert row["textbook"]["preemptions"] > 0
    assert row["textbook"]["peak_running"] <= 15


def test_several_loads_at_once_and_twice_the_blocks_in_fp8() -> None:
    rows = show("blocks", "--in-flight", "72,128", "--total", 200, "--kv-dtype", "fp8")
    assert [row["in_flight"] for row in rows] == [72, 128]
    assert [row["textbook"]["preemptions"] for row in rows] == [0, 0]
    assert Case(kv_dtype="fp8").num_blocks == 26_092


def test_the_table_is_readable() -> None:
    shown = run("blocks", "--in-flight", 128).out
    lines = [" ".join(line.split()) for line in shown.splitlines()]
    assert "128, fcfs, bf16 textbook 130 130 0 273,100 2,740 104" in lines
    assert "A sequence of 2,250 tokens fills 141 blocks of 16: 92 fit into 13,046." in shown
    assert "With room for 8,192 tokens kept for each (512 blocks) it would be 25." in shown


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--batch", 129], "--batch 129 is more than --in-flight 128"),
        (["--blocks", 141], "a request needs 141 blocks, and vLLM can use 140 of --blocks"),
        (["--policy", "lifo"], "'lifo' is not one of 'fcfs', 'priority'"),
        (["--in-flight", "0"], "'--in-flight': must be a positive whole number, not 0 (in 0)"),
    ],
)
def test_what_cannot_be_is_one_line_and_exit_2(flags: list[object], message: str) -> None:
    done = run("blocks", *flags)
    assert (done.status, done.out, done.err.count("\n")) == (2, "", 1)
    assert message in done.err


def by_the_rule(
    slots: list[int], total: int, prompt: int, output: int, blocks: int, seats: int, priority: bool, stops: bool
) -> tuple[dict[int, int], int, int, int]:
    """The textbook rule, word for word, on plain lists of [class, arrival, gen, held, evicted before]."""
    waiting = [[rank, number, 0, 0, False] for number, rank in enumerate(slots)][: total if stops else None]
    running: list[list[Any]] = []
    free, sent, done, steps, recomputed, peak = blocks, len(waiting), 0, 0, 0, 0
    preemptions: dict[int, int] = {}

    def need(r: list[Any]) -> int:
        return -(-(prompt + r[2]) // 16) - int(r[3])

    while done < total:
        steps += 1
        place = 0
        while place < len(running):
            r = running[place]
            while need(r) > free:
                victim = max(running, key=lambda x: (x[0], x[1])) if priority else running[-1]
                if running.index(victim) < place:
                    place -= 1
                running.remove(victim)
                free, victim[3], victim[4] = free + victim[3], 0, True
                waiting.insert(0, victim)
                preemptions[victim[0]] = preemptions.get(victim[0], 0) + 1
                if victim is r:
                    break
            else:
                free, r[3], r[2] = free - need(r), r[3] + need(r), r[2] + 1
                place += 1
                if r[2] >= output:
                    running.remove(r)
                    free, place, done = free + r[3], place - 1, done + 1
                    if sent < total or not stops:
                        waiting.append([r[0], sent, 0, 0, False])
                        sent += 1
        if priority:
            waiting.sort(key=lambda x: (x[0], x[1]))
        while waiting and len(running) < seats and need(waiting[0]) <= free:
            r = waiting.pop(0)
            recomputed += (prompt + r[2]) * r[4]
            free, r[3], r[2] = free - need(r), r[3] + need(r), r[2] + 1
            running.append(r)
        peak = max(peak, len(running))
    return preemptions, recomputed, steps, peak


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.sampled_from([0, 10]), min_size=1, max_size=20),
    st.integers(1, 60),
    st.integers(1, 60),
    st.integers(2, 60),
    st.integers(8, 60),
    st.integers(1, 20),
    st.booleans(),
    st.booleans(),
)
def test_other_loads_by_an_independent_rule(
    slots: list[int], total: int, prompt: int, output: int, blocks: int, seats: int, priority: bool, stops: bool
) -> None:
    loop = ClosedLoop(slots=slots, total=total, prompt=prompt, output=output, stops_sending=stops)
    tally = Textbook(loop, blocks, seats, priority).run()
    preemptions, recomputed, steps, peak = by_the_rule(slots, total, prompt, output, blocks, seats, priority, stops)
    assert dict(tally.preemptions_by_priority) == preemptions
    assert (tally.recomputed_tokens, tally.steps, tally.peak_running) == (recomputed, steps, peak)
