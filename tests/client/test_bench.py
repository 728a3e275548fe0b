"""A result file: the keys of the real tool in their order, and its name."""

import json
from pathlib import Path
from typing import Any

import pytest
from mockvllm_client.bench import by_request, file_name, head, kept
from mockvllm_client.load import Reply
from mockvllm_client.measure import Record, summarize

RECORDED = Path(__file__).parent.parent / "data" / "client" / "bench"
LOAD = {"request_rate": "inf", "burstiness": 1.0, "max_concurrency": 24}
REPLIES = [
    Reply(
        Record(start=0.1, ttft=0.2, latency=0.5, itl=[0.1, 0.2], output_tokens=3, prompt_tokens=9, arrival=0.05),
        "a b c",
    ),
    Reply(
        Record(start=0.2, ttft=0.0, latency=0.0, output_tokens=0, prompt_tokens=8, success=False), error="Bad Gateway"
    ),
]


def recorded_keys(detailed: bool) -> list[str]:
    """Of a real file; the recordings came without texts and errors, which stand behind the times."""
    keys = list(json.loads((RECORDED / "sweep-c024.json").read_text()))
    at = keys.index("queue_times") + 1
    keys[at:at] = ["generated_texts", "errors"]
    lists = keys[keys.index("input_lens") : keys.index("max_output_tokens_per_s")]
    return [key for key in keys if detailed or key not in lists or key in ("latencies", "queue_times")]


def result(detailed: bool = False, **changes: Any) -> dict[str, Any]:
    about = head(backend="openai", label=None, model_id="org/m", tokenizer_id="org/m", num_prompts=2, load=LOAD)
    summary = summarize(
        [reply.record for reply in REPLIES],
        1.0,
        metrics=("ttft", "tpot", "itl", "e2el"),
        percentiles=(50, 95, 99),
    )
    return {**about, **changes} | summary.as_bench(kept(by_request(REPLIES), detailed))


@pytest.mark.parametrize("detailed", [True, False])
def test_the_keys_are_the_tools_own(detailed: bool) -> None:
    assert list(result(detailed)) == recorded_keys(detailed)


def test_there_is_an_entry_for_each_request() -> None:
    lists = by_request(REPLIES)
    assert lists == {
        "input_lens": [9, 8],
        "output_lens": [3, 0],
        "ttfts": [0.2, 0.0],
        "itls": [[0.1, 0.2], []],
        "latencies": [0.5, 0.0],
        "start_times": [0.1, 0.2],
        "queue_times": [pytest.approx(0.05), 0.0],
        "generated_texts": ["a b c", ""],
        "errors": ["", "Bad Gateway"],
    }


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({}, "openai-infqps-concurrency24-m-20260101-000000.json"),
        ({"max_concurrency": None, "request_rate": 8.0}, "openai-8.0qps-m-20260101-000000.json"),
        ({"label": "h100", "request_rate": 0.5}, "h100-0.5qps-concurrency24-m-20260101-000000.json"),
    ],
)
def test_the_name_says_the_load(changes: dict[str, Any], name: str) -> None:
    assert file_name(result(**changes, date="20260101-000000")) == name
