"""/v1/messages without tools or reasoning: the shape of answers, and what becomes of a request."""

import json
from typing import Any

import pytest
from api_client import JSON, Event, events, kinds, messages_api, prepare, stream, whole
from hypothesis import given
from hypothesis import strategies as st
from wire_harness import run, step

from mockvllm.server.messages import MessagesServing
from mockvllm.wire.usage import UsageRules

SENTENCE = "Tu pedido sale mañana y llega en dos o tres días hábiles ."


def text_of(found: list[Event]) -> str:
    return "".join(event["delta"].get("text", "") for event in found if event["type"] == "content_block_delta")


def test_a_whole_message_has_no_nulls() -> None:
    answer = whole(messages_api(), max_tokens=3)
    assert answer.pop("id").startswith("chatcmpl-")
    assert answer == {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "text", "text": "Tu pedido sale"}],
        "model": "m",
        "stop_reason": "max_tokens",
        "usage": {"input_tokens": 1, "output_tokens": 3},
    }


@pytest.mark.parametrize(
    ("fields", "stop"),
    [
        ({"max_tokens": 4}, {"stop_reason": "max_tokens"}),
        ({"max_tokens": 50}, {"stop_reason": "end_turn"}),
        ({"max_tokens": 50, "stop_sequences": ["llega"]}, {"stop_reason": "stop_sequence", "stop_sequence": "llega"}),
    ],
)
def test_why_it_ended(fields: dict[str, Any], stop: dict[str, Any]) -> None:
    answer = whole(messages_api(), **fields)
    assert {name: answer[name] for name in ("stop_reason", "stop_sequence") if name in answer} == stop
    (last,) = (event for event in stream(messages_api(), **fields) if event["type"] == "message_delta")
    assert last["delta"] == {"stop_sequence": None, **stop}


def test_a_stream_is_blocks_between_start_and_stop() -> None:
    found = stream(messages_api(), max_tokens=3)
    assert kinds(found) == [
        "message_start",
        "content_block_start",
        *["content_block_delta"] * 3,
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]
    assert found[0]["message"]["usage"] == {"input_tokens": 1, "output_tokens": 0}
    assert found[-2]["usage"] == {"input_tokens": 1, "output_tokens": 3}
    assert text_of(found) == "Tu pedido sale"


def test_nothing_is_sent_before_the_first_token() -> None:
    prepared = prepare(messages_api(), stream=True)
    assert prepared.answer.begin() == b""
    assert kinds(events(step(prepared, 0, prepared.choices[0], 8192)))[0] == "message_start"


def test_a_text_that_is_empty_opens_no_block() -> None:
    found = stream(messages_api(), messages=[{"role": "user", "content": "[[say]][[/say]]"}])
    assert kinds(found) == ["message_start", "message_delta", "message_stop"]
    answer = whole(messages_api(), messages=[{"role": "user", "content": "[[say]][[/say]]"}])
    assert answer["content"] == [{"type": "text", "text": ""}]


def test_held_back_text_leaves_no_empty_deltas() -> None:
    found = stream(messages_api(), max_tokens=20, stop_sequences=["un texto que nunca viene"])
    texts = [event["delta"]["text"] for event in found if event["type"] == "content_block_delta"]
    assert "" not in texts
    assert "".join(texts) == SENTENCE


@given(st.text(max_size=60).filter(lambda text: "[[" not in text and "‹" not in text), st.integers(1, 5))
def test_a_stream_adds_up_to_the_whole_however_its_tokens_are_merged(said: str, together: int) -> None:
    serving = messages_api()
    fields: dict[str, Any] = {"mock": {"say": said}, "max_tokens": 999}
    prepared = prepare(serving, stream=True, **fields)
    (request,) = prepared.choices
    payload, left = b"", len(request.outputs.tokens(0, 999)[: _length(serving, fields)])
    while left > together:
        payload += prepared.answer.merged(0, together)
        left -= together
    payload += prepared.answer.finish(0, left, "stop", None) + prepared.answer.close()
    assert text_of(events(payload)) == whole(serving, **fields)["content"][0]["text"] == said


def _length(serving: MessagesServing, fields: dict[str, Any]) -> int:
    tokens: int = whole(serving, **fields)["usage"]["output_tokens"]
    return tokens


def test_cached_tokens_are_counted_apart_if_the_server_tells() -> None:
    serving = messages_api(usage=UsageRules(prompt_tokens_details=True, block_size=4))
    prepared = prepare(
        serving, messages=[{"role": "user", "content": "una dos tres cuatro cinco seis siete ocho nueve"}]
    )
    prepared.choices[0].num_cached_tokens = 4
    usage = json.loads(run(prepared))["usage"]
    assert usage == {
        "input_tokens": 1,
        "output_tokens": 13,
        "cache_creation_input_tokens": 4,
        "cache_read_input_tokens": 4,
    }


@pytest.mark.parametrize(
    ("fields", "tokens"),
    [
        ({}, 1),
        ({"system": "sé breve"}, 3),
        ({"system": [{"type": "text", "text": "sé "}, {"type": "text", "text": "breve"}]}, 3),
        ({"system": [{"type": "text", "text": "x-anthropic-billing-header: a b c"}]}, 1),
        (
            {
                "messages": [
                    {"role": "user", "content": [{"type": "text", "text": "una"}, {"type": "text", "text": "dos"}]}
                ]
            },
            2,
        ),
        ({"messages": [{"role": "user", "content": "una"}, {"role": "system", "content": "dos tres"}]}, 3),
        ({"messages": [{"role": "msg", "content": "una dos"}]}, 2),
    ],
)
def test_tokens_are_counted_as_messages_count_them(fields: dict[str, Any], tokens: int) -> None:
    serving = messages_api()
    body = {"model": "m", "messages": [{"role": "user", "content": "hola"}], **fields}
    counted = json.loads(serving.count_tokens(json.dumps(body).encode(), [JSON]))
    assert counted == {"input_tokens": tokens, "context_management": {"original_input_tokens": tokens}}
    assert whole(serving, **fields)["usage"]["input_tokens"] == tokens


def test_the_client_s_request_id_becomes_the_message_s() -> None:
    assert whole(messages_api(), (b"x-request-id", b"abc"))["id"] == "chatcmpl-abc"
