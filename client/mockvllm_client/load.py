"""A load on a server, sent as `vllm bench serve` (0.33.0) sends it. What a reply is worth is said by `measure`."""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Any

import httpx

from mockvllm_client.measure import Record
from mockvllm_client.stream import stream
from mockvllm_client.transcript import End, Transcript

NO_TOKEN = "Never received a valid chunk to calculate TTFT."
_SHOWN = 300  # characters of what a server says


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """A request: `at` so many seconds after the start. `prompt_tokens` counts where the server's usage does not."""

    at: float
    prompt_tokens: int
    body: Mapping[str, Any]
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Reply:
    """Its record, in seconds since the start, and what was said; `error` says why it does not count."""

    record: Record
    text: str = ""
    error: str = ""


async def send(
    client: httpx.AsyncClient,
    url: str,
    load: Sequence[Planned],
    max_concurrency: int | None = None,
    told: Callable[[int], None] | None = None,
) -> tuple[list[Reply], float]:
    """The replies in the order of `load`, and the seconds from the start to the end of the last.

    At most `max_concurrency` are in flight; the others wait here. `told(n)` hears how many are done. Whatever goes
    wrong with a request is its reply's `error`.
    """
    seats = asyncio.Semaphore(max_concurrency or max(1, len(load)))
    replies: list[Reply | None] = [None] * len(load)
    done = 0
    start = time.perf_counter()

    async def one(number: int, arrival: float) -> None:
        nonlocal done
        async with seats:
            replies[number] = await _reply(client, url, load[number], start, arrival)
        done += 1
        if told is not None:
            told(done)

    async with asyncio.TaskGroup() as group:
        for number, planned in enumerate(load):
            wait = start + planned.at - time.perf_counter()
            if wait > 0:
                await asyncio.sleep(wait)
            group.create_task(one(number, time.perf_counter() - start))
    return [reply for reply in replies if reply is not None], time.perf_counter() - start


async def _reply(client: httpx.AsyncClient, url: str, planned: Planned, start: float, arrival: float) -> Reply:
    request = client.build_request("POST", url, json=planned.body, headers=planned.headers)
    transcript = Transcript()
    began = time.perf_counter() - start
    try:
        async for _ in stream(client, request, transcript):
            pass
    except httpx.TransportError as error:
        return _failed(planned, began, arrival, f"cannot connect: {error or type(error).__name__}")
    record = transcript.record()
    why = _error(transcript, record)
    if record is None or why:
        return _failed(planned, began, arrival, why)
    counted = record.prompt_tokens or planned.prompt_tokens
    return Reply(replace(record, start=began, arrival=arrival, prompt_tokens=counted), transcript.answer.first.text)


def _failed(planned: Planned, began: float, arrival: float, error: str) -> Reply:
    nothing = Record(
        start=began,
        ttft=0.0,
        latency=0.0,
        output_tokens=0,
        prompt_tokens=planned.prompt_tokens,
        arrival=arrival,
        success=False,
    )
    return Reply(nothing, error=error)


def _error(transcript: Transcript, record: Record | None) -> str:
    """Empty for an answer that counts."""
    said = str((transcript.answer.error or {}).get("message", ""))[:_SHOWN]
    if transcript.status is None:
        return f"no answer ({transcript.end})"
    if transcript.status != 200:
        return ": ".join(part for part in (_reason(transcript.status), said) if part)
    if transcript.end is not End.COMPLETE:
        return f"the answer was cut off ({transcript.end})"
    return "" if record else said or NO_TOKEN


def _reason(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return f"HTTP {status}"
