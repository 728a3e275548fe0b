"""Streams made by hand, as bytes with their times: what a server of exact pace says, and a transcript of what came."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from mockvllm_client.transcript import End, Transcript

SSE = {"content-type": "text/event-stream; charset=utf-8"}
DONE = b"data: [DONE]\n\n"

Timed = tuple[float, bytes]


def event(payload: Mapping[str, Any]) -> bytes:
    return b"data: " + json.dumps(payload, ensure_ascii=False, separators=(",", ":")).encode() + b"\n\n"


def chunk(delta: Mapping[str, Any] | None, finish: str | None = None, index: int = 0) -> bytes:
    choice = {"index": index, "delta": delta, "finish_reason": finish}
    return event({"id": "chatcmpl-1", "object": "chat.completion.chunk", "model": "m", "choices": [choice]})


def role(index: int = 0) -> bytes:
    return chunk({"role": "assistant", "content": ""}, index=index)


def usage(prompt: int, completion: int) -> bytes:
    counts = {"prompt_tokens": prompt, "total_tokens": prompt + completion, "completion_tokens": completion}
    return event({"id": "chatcmpl-1", "model": "m", "choices": [], "usage": counts})


def paced(
    tokens: int = 30, ttft: float = 0.5, itl: float = 0.04, prompt: int = 2000, finish: str = "length"
) -> list[Timed]:
    """The pieces of a stream of words of different lengths, each at its exact time."""
    words = [f" {'x' * (1 + 7 * i % 5)}{i}" for i in range(tokens)]
    times = [ttft + i * itl for i in range(tokens)]
    last = tokens - 1
    said = [
        (at, chunk({"content": w}, finish if i == last else None))
        for i, (at, w) in enumerate(zip(times, words, strict=True))
    ]
    return [(ttft, role()), *said, (times[-1], usage(prompt, tokens)), (times[-1], DONE)]


def transcript(
    pieces: Iterable[Timed], end: End = End.COMPLETE, headers: Mapping[str, str] = SSE, status: int = 200
) -> Transcript:
    """What a client notes that gets these pieces; the head comes at 1 ms, the end with the last piece."""
    noted = Transcript()
    noted.open(0.001, status, headers)
    at = 0.001
    for at, data in pieces:
        noted.feed(at, data)
    noted.close(at, end)
    return noted
