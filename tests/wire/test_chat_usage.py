from typing import Any

import pytest
from chat_client import events, prepare, words
from wire_harness import run

from mockvllm.wire.usage import UsageRules

DETAILS = words(usage=UsageRules(prompt_tokens_details=True))
METRICS = words(usage=UsageRules(per_request_metrics=True))
PROMPT = [{"role": "user", "content": "a " * 101}]


@pytest.mark.parametrize(("cached", "created"), [(0, 96), (16, 80), (96, 0)])
def test_cached_and_created_tokens_are_whole_blocks(cached: int, created: int) -> None:
    for stream, absent in ((True, {}), (False, {"multimodal_tokens": None})):
        options = {"stream_options": {"include_usage": True}} if stream else {}
        prepared = prepare(DETAILS, messages=PROMPT, stream=stream, **options)
        prepared.choices[0].num_cached_tokens = cached
        payload = run(prepared)
        body = events(payload)[-2] if stream else events(b"data: " + payload + b"\n\n")[0]
        details = {"cached_tokens": cached, "created_cache_tokens": created, **absent}
        assert body["usage"]["prompt_tokens_details"] == details


def measured(**fields: Any) -> Any:
    prepared = prepare(METRICS, **fields)
    for request in prepared.choices:
        request.queued_at, request.scheduled_at, request.first_token_at, request.last_token_at = 1.0, 1.5, 2.5, 4.5
    payload = run(prepared)
    return (events(payload)[-2] if fields.get("stream") else events(b"data: " + payload + b"\n\n")[0]).get("metrics")


def test_metrics_are_the_engine_s_times() -> None:
    times = {
        "time_to_first_token_ms": 1000.0,
        "generation_time_ms": 2000.0,
        "queue_time_ms": 500.0,
        "mean_itl_ms": 500.0,
        "tokens_per_second": 5 / 3.0,
    }
    assert measured(max_tokens=5) == {**times, "speculative_decoding": None}
    assert measured(max_tokens=5, stream=True, stream_options={"include_usage": True}) == times


def test_metrics_of_one_token_have_no_mean_and_of_several_choices_there_are_none() -> None:
    assert measured(max_tokens=1)["mean_itl_ms"] is None
    assert "mean_itl_ms" not in measured(max_tokens=1, stream=True, stream_options={"include_usage": True})
    assert measured(n=2) is None


def test_without_the_flags_there_are_neither() -> None:
    body = events(b"data: " + run(prepare(words())) + b"\n\n")[0]
    assert body["usage"]["prompt_tokens_details"] is None
    assert body["metrics"] is None
