"""The official `anthropic` SDK, streaming and not."""

from collections.abc import Iterator
from typing import Any

import anthropic
import pytest
import support
from anthropic import Anthropic, AsyncAnthropic

SENTENCE = "Tu pedido sale mañana y llega en dos o tres días hábiles ."
MODEL = "chat-70b-fp8-2026-09-28"
TOOLS = ("--enable-auto-tool-choice", "--tool-call-parser", "hermes")
TOOL: Any = {"name": "get_weather", "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}}}
CALL = '<tool_call>{"name": "get_weather", "arguments": {"city": "Madrid"}}</tool_call>'


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with support.serve("--ttft-ms", "30", "--itl-ms", "5", *TOOLS) as running:
        yield running.url


@pytest.fixture
def client(url: str) -> Iterator[Anthropic]:
    with Anthropic(base_url=url, api_key="none", max_retries=0) as opened:
        yield opened


def ask(content: str = "¿Cuándo llega?", **options: Any) -> dict[str, Any]:
    return {"model": MODEL, "max_tokens": 100, "messages": [{"role": "user", "content": content}], **options}


def test_a_whole_message(client: Anthropic) -> None:
    message = client.messages.create(**ask())
    assert (message.role, message.model, message.stop_reason) == ("assistant", MODEL, "end_turn")
    (block,) = message.content
    assert block.type == "text"
    assert block.text == SENTENCE
    assert (message.usage.input_tokens, message.usage.output_tokens) == (2, 13)


def test_a_stream_of_texts(client: Anthropic) -> None:
    with client.messages.stream(**ask(max_tokens=4)) as stream:
        texts = list(stream.text_stream)
        final = stream.get_final_message()
    assert "".join(texts) == "Tu pedido sale mañana"
    assert (final.stop_reason, final.usage.output_tokens) == ("max_tokens", 4)


def test_a_stream_of_events(client: Anthropic) -> None:
    kinds = [event.type for event in client.messages.create(**ask(max_tokens=2), stream=True)]
    assert kinds == [
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]


def test_a_stop_sequence(client: Anthropic) -> None:
    message = client.messages.create(**ask(stop_sequences=["llega"]))
    assert (message.stop_reason, message.stop_sequence) == ("stop_sequence", "llega")


def test_a_tool_is_used_and_its_result_sent_back(client: Anthropic) -> None:
    with client.messages.stream(**ask(f"[[say]]{CALL}[[/say]]", tools=[TOOL])) as stream:
        message = stream.get_final_message()
    assert message.stop_reason == "tool_use"
    (call,) = message.content
    assert call.type == "tool_use"
    assert (call.name, call.input) == ("get_weather", {"city": "Madrid"})
    result: Any = {"type": "tool_result", "tool_use_id": call.id, "content": "20 grados"}
    turns: Any = [
        {"role": "user", "content": "¿Qué tiempo hace?"},
        {"role": "assistant", "content": message.content},
        {"role": "user", "content": [result]},
    ]
    answer = client.messages.create(model=MODEL, max_tokens=100, messages=turns, tools=[TOOL])
    assert answer.stop_reason == "end_turn"


def test_thinking() -> None:
    with (
        support.serve("--reasoning-parser", "qwen3") as server,
        Anthropic(base_url=server.url, api_key="none", max_retries=0) as client,
    ):
        message = client.messages.create(**ask("[[say]]‹think› a ver ‹/think› Hola[[/say]]"))
    thinking, text = message.content
    assert (thinking.type, text.type) == ("thinking", "text")
    assert (thinking.thinking, text.text) == (" a ver ", " Hola")


def test_tokens_are_counted(client: Anthropic) -> None:
    counted = client.messages.count_tokens(model=MODEL, messages=ask("una dos tres")["messages"])
    assert counted.input_tokens == 3


def test_errors_are_the_sdk_s(client: Anthropic) -> None:
    with pytest.raises(anthropic.NotFoundError, match="not_found_error"):
        client.messages.create(**ask(model="nope"))
    with pytest.raises(anthropic.BadRequestError, match="invalid_request_error"):
        client.messages.create(**ask(max_tokens=9000))
    with pytest.raises(anthropic.BadRequestError, match="max_tokens must be positive"):
        client.messages.create(**ask(max_tokens=0))


async def test_async(url: str) -> None:
    async with (
        AsyncAnthropic(base_url=url, api_key="none", max_retries=0) as client,
        client.messages.stream(**ask()) as stream,
    ):
        texts = [text async for text in stream.text_stream]
    assert "".join(texts) == SENTENCE
