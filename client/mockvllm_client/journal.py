"""The server's own record of a request, when the server is mockvllm: `GET /mock/requests/{id}`."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import httpx

_UNFINISHED = ("queued", "running")
_TRIES = 10
_TIMEOUT = 5.0  # seconds
_PAUSE = 0.05  # seconds between two looks at a request that is about to end


class NoJournalError(Exception):
    """Why there is no journal, in one line."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One request in the journal. Times are seconds since `accepted_at` (Unix time); what the server does not say is
    None or empty."""

    raw: Mapping[str, Any]

    @property
    def accepted_at(self) -> float:
        return float(self.raw["accepted_at"])

    @property
    def refused(self) -> bool:
        """No scheduler has seen it."""
        return self.raw.get("state") == "rejected" or self.status >= 400

    @property
    def status(self) -> int:
        return int(self.raw.get("status") or 0)

    @property
    def time_scale(self) -> float | None:
        """The server's seconds in a real one (1 if it does not say); None if its clock is moved by hand."""
        scale = self.raw.get("time_scale", 1.0)
        return None if scale is None else float(scale)

    @property
    def in_real_time(self) -> bool:
        return self.time_scale == 1.0

    @property
    def prompt_tokens(self) -> int:
        return int(self.raw.get("prompt_tokens") or 0)

    @property
    def block_size(self) -> int:
        return int((self.raw.get("blocks") or {}).get("block_size") or 0)

    def block(self, name: str) -> int | None:
        """`held` or `free_after`."""
        value = (self.raw.get("blocks") or {}).get(name)
        return value if isinstance(value, int) else None

    @property
    def max_tokens(self) -> int | None:
        """The limit that the request asked for."""
        try:
            body = json.loads(self.raw["request"]["body"])
            limit = body.get("max_completion_tokens", body.get("max_tokens"))
        except (KeyError, TypeError, ValueError, AttributeError):
            return None
        return limit if isinstance(limit, int) else None

    def at(self, name: str) -> float | None:
        """A time of the timeline."""
        value = (self.raw.get("timeline") or {}).get(name)
        return float(value) if isinstance(value, int | float) else None

    def sent(self) -> list[float]:
        """When each token left the server, in real seconds; empty if its clock is moved by hand."""
        scale = self.time_scale
        if scale is None:
            return []
        return [float(event["t"]) / scale for event in self.raw.get("events") or () for _ in range(event["tokens"])]


async def fetch(client: httpx.AsyncClient, url: str, request_id: str, key: str | None = None) -> Entry:
    """The entry of a request that has ended, by the response's id or the `X-Request-Id` that was sent; raises
    `NoJournalError`.

    The answer may be here a moment before the server has written down its end, so that an unfinished entry is asked for
    again.
    """
    for _ in range(_TRIES):
        entry = await _get(client, f"{url}/mock/requests/{request_id}", key)
        if entry.raw.get("state") not in _UNFINISHED:
            break
        await asyncio.sleep(_PAUSE)
    return entry


async def _get(client: httpx.AsyncClient, url: str, key: str | None) -> Entry:
    try:
        response = await client.get(url, headers={"authorization": f"Bearer {key}"} if key else {}, timeout=_TIMEOUT)
    except httpx.TransportError as error:
        raise NoJournalError(f"the server does not answer ({type(error).__name__})") from error
    if response.status_code != 200:
        raise NoJournalError(f"the server answers {response.status_code} on /mock/requests")
    try:
        entry = Entry(response.json())
        entry.accepted_at, entry.sent()  # reading proves that it is a journal
    except (ValueError, KeyError, TypeError, AttributeError, ZeroDivisionError) as error:
        raise NoJournalError("what the server has on /mock/requests is no journal") from error
    return entry
