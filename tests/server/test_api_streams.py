"""Streams of /v1/responses and /v1/messages in time, on a clock moved by hand."""

from typing import Any

import pytest
from server.harness import in_process, settle

PACE = ("--ttft-ms", "300", "--itl-ms", "40")
HOLA = [{"role": "user", "content": "hola"}]
RESPONSE: dict[str, Any] = {"input": "hola", "max_output_tokens": 3, "stream": True}
MESSAGE: dict[str, Any] = {"model": "chat-70b-fp8-2026-09-28", "max_tokens": 3, "messages": HOLA, "stream": True}


def kinds(text: str) -> list[str]:
    return [line.removeprefix("event: ") for line in text.split("\n") if line.startswith("event: ")]


@pytest.mark.parametrize(
    ("path", "body", "due"),
    [
        (
            "/v1/responses",
            RESPONSE,
            [
                (0.0, ["response.created", "response.in_progress"]),
                (
                    0.3,
                    ["response.output_item.added", "response.content_part.added", "response.output_text.delta"],
                ),
                (0.04, ["response.output_text.delta"]),
                (
                    0.04,
                    [
                        "response.output_text.delta",
                        "response.output_text.done",
                        "response.content_part.done",
                        "response.output_item.done",
                        "response.incomplete",
                    ],
                ),
            ],
        ),
        (
            "/v1/messages",
            MESSAGE,
            [
                (0.3, ["message_start", "content_block_start", "content_block_delta"]),
                (0.04, ["content_block_delta"]),
                (0.04, ["content_block_delta", "content_block_stop", "message_delta", "message_stop"]),
            ],
        ),
    ],
)
async def test_events_come_when_their_token_is_due(
    path: str, body: dict[str, Any], due: list[tuple[float, list[str]]]
) -> None:
    async with in_process(*PACE) as server, server.client.stream("POST", path, json=body) as response:
        assert response.headers["content-type"] == "text/event-stream; charset=utf-8"
        pieces = response.aiter_text()
        for seconds, expected in due:
            await server.advance(seconds)
            assert kinds(await anext(pieces)) == expected
        with pytest.raises(StopAsyncIteration):
            await anext(pieces)


@pytest.mark.parametrize(("path", "body"), [("/v1/responses", RESPONSE), ("/v1/messages", MESSAGE)])
async def test_the_journal_knows_what_was_written(path: str, body: dict[str, Any]) -> None:
    async with in_process(*PACE) as server:
        async with server.client.stream("POST", path, json=body, headers={"X-Request-Id": "r"}) as response:
            await server.advance(1)
            text = "".join([piece async for piece in response.aiter_text()])
        await settle()
        entry = await server.journal("r")
        assert (entry["path"], entry["state"], entry["tokens_written"]) == (path, "finished", 3)
        assert sum(event["bytes"] for event in entry["events"]) == len(text.encode())
