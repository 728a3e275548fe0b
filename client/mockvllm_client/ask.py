"""One question to a chat server, from the prompt to the report."""

from collections.abc import Callable, Mapping, Sequence
from itertools import cycle, islice
from typing import Any

import httpx

from mockvllm_client.chain import delays, links, skew
from mockvllm_client.check import judge
from mockvllm_client.journal import Entry, NoJournalError, fetch
from mockvllm_client.report import Report
from mockvllm_client.stream import stream
from mockvllm_client.transcript import Arrival, Transcript

CHAT_PATH = "/v1/chat/completions"
_FILLER = ("the", "quick", "brown", "fox", "jumps", "over", "the", "lazy", "dog", "and", "nobody", "knows", "why")
_SAME_CLOCK = 0.002  # seconds by which two readings of one clock may seem to disagree

Show = Callable[[bytes, Sequence[Arrival]], None]


class NoServerError(Exception):
    """Why nothing can be asked there, in one line."""


def base_url(text: str) -> str:
    """`text` without a trailing slash or `/v1`; ValueError if it is no HTTP URL."""
    try:
        url = httpx.URL(text)
    except httpx.InvalidURL as error:
        raise ValueError(f"{text!r} is no URL: {error}") from error
    if url.scheme not in ("http", "https") or not url.host or url.query or url.fragment:
        raise ValueError(f"{text!r} is no URL of the form http://host:port")
    return text.rstrip("/").removesuffix("/v1").rstrip("/")


async def first_model(client: httpx.AsyncClient, url: str) -> str:
    """The id of the first model that the server lists; raises `NoServerError`."""
    return str((await first_card(client, url))["id"])


async def first_card(client: httpx.AsyncClient, url: str) -> Mapping[str, Any]:
    """What the server lists of its first model, `id` included; raises `NoServerError`."""
    try:
        response = await client.get(f"{url}/v1/models")
    except httpx.TransportError as error:
        raise NoServerError(f"cannot connect to {url}: {error or type(error).__name__}") from error
    if response.status_code != 200:
        raise NoServerError(f"{url}/v1/models answers {response.status_code}: {response.text[:200]}")
    try:
        card: Mapping[str, Any] = response.json()["data"][0]
        return {**card, "id": card["id"]}
    except (ValueError, LookupError, TypeError) as error:
        raise NoServerError(f"{url}/v1/models lists no model; name one with --model") from error


def prompt_of(text: str, words: int) -> str:
    """A prompt of exactly `words` words that ends in `text`; ValueError if `text` has more."""
    own = len(text.split())
    if own > words:
        raise ValueError(f"{words} is less than the {own} words of the text")
    return " ".join([*islice(cycle(_FILLER), words - own), text]).strip()


async def ask(
    client: httpx.AsyncClient, url: str, body: Mapping[str, Any], headers: Mapping[str, str], show: Show
) -> Transcript:
    """Send a chat request; `show` gets the bytes and the events of each read. Nobody there is a `NoServerError`."""
    request = client.build_request("POST", url + CHAT_PATH, json=body, headers=headers)
    transcript = Transcript(streamed=bool(body.get("stream")))
    try:
        async for data, arrivals in stream(client, request, transcript):
            show(data, arrivals)
    except httpx.TransportError as error:
        raise NoServerError(f"cannot connect to {url}: {error or type(error).__name__}") from error
    return transcript


async def explain(
    client: httpx.AsyncClient, server: str, transcript: Transcript, request_id: str, key: str | None = None
) -> Report:
    """The report about a finished transcript, with the journal of `server` if it has one (`key` opens it from afar)."""
    try:
        entry = await fetch(client, server, transcript.answer.id or request_id, key)
    except NoJournalError as error:
        client_side = links(transcript) if transcript.arrivals else ()
        return Report(transcript, judge(transcript), client_side, no_journal=str(error))
    verdict = judge(transcript, entry.sent())
    return Report(
        transcript,
        verdict,
        links(transcript, entry),
        dict(entry.raw),
        delays(transcript, entry),
        notes=_clock_notes(transcript, entry),
    )


def _clock_notes(transcript: Transcript, entry: Entry) -> list[str]:
    if not entry.in_real_time:
        return [f"the server's clock is not real time ({_pace(entry)}): no chain of both sides"]
    seconds = skew(transcript, entry)
    return [f"the server's clock differs by at least {seconds:.3f} s"] if abs(seconds) > _SAME_CLOCK else []


def _pace(entry: Entry) -> str:
    return "it is moved by hand" if entry.time_scale is None else f"it runs {entry.time_scale:g} times as fast"
