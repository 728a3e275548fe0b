"""The responses that a server keeps when VLLM_ENABLE_RESPONSES_API_STORE is set: in memory, forever (vLLM)."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

from mockvllm.wire.errors import invalid
from mockvllm.wire.responses_checks import not_found, refused

Response = dict[str, Any]
Messages = Sequence[Any]
_UNDER_WAY = ("queued", "in_progress")


class Recording:
    """The events of a response that runs in the background, for whoever wants to follow it. A sink of its exchange."""

    def __init__(self) -> None:
        self._events: list[bytes] = []
        self._ended = False
        self._more = asyncio.Event()

    def ready(self, when_ready: Callable[[], None]) -> bool:
        return True

    def write(self, payload: bytes, last: bool) -> None:
        self._events += [event + b"\n\n" for event in payload.split(b"\n\n") if event]
        if last:
            self._ended = True
        self._tell()

    def abort(self) -> None:
        self._ended = True
        self._tell()

    async def follow(self, start: int = 0) -> AsyncIterator[bytes]:
        """The events from number `start` on, those that are still to come included."""
        at = max(0, start)
        while True:
            for event in self._events[at:]:
                yield event
            at = max(at, len(self._events))
            if self._ended:
                return
            await self._more.wait()

    def _tell(self) -> None:
        told, self._more = self._more, asyncio.Event()
        told.set()


class ResponsesStore:
    """`enabled`: False: nothing is kept, and nothing is found."""

    def __init__(self, enabled: bool) -> None:
        self.enabled = enabled
        self._responses: dict[str, Response] = {}
        self._messages: dict[str, Messages] = {}
        self._recordings: dict[str, Recording] = {}
        self._stops: dict[str, Callable[[], None]] = {}

    def find(self, response_id: str) -> Response:
        """Raises APIError if there is none such."""
        response = self._responses.get(response_id)
        if response is None:
            raise not_found(response_id)
        return response

    def conversation(self, response_id: str) -> Messages:
        """The messages that a response answered."""
        return self._messages.get(response_id, ())

    def begin(self, response_id: str, messages: Messages) -> None:
        self._messages[response_id] = messages

    def keep(self, response: Response) -> None:
        """`response` as it is from here on, unless it was cancelled."""
        if response["status"] not in _UNDER_WAY:
            self._stops.pop(response["id"], None)
        known = self._responses.get(response["id"])
        if known is None or known["status"] != "cancelled":
            self._responses[response["id"]] = response

    def queued(self, response_id: str) -> Response | None:
        """The response, if it is to be made in the background and nobody has begun."""
        response = self._responses.get(response_id)
        waits = response is not None and response["status"] == "queued" and response_id not in self._recordings
        return response if waits else None

    def run(self, response_id: str, recording: Recording, stop: Callable[[], None]) -> None:
        """A response goes on in the background, until it ends or `stop` is called."""
        self._recordings[response_id] = recording
        self._stops[response_id] = stop

    def follow(self, response_id: str, starting_after: int | None) -> AsyncIterator[bytes]:
        """The events of a background response behind number `starting_after`. Raises APIError."""
        self.find(response_id)
        recording = self._recordings.get(response_id)
        if recording is None:
            raise invalid(f"Unknown response_id: {response_id}", "response_id", response_id)
        return recording.follow(0 if starting_after is None else starting_after + 1)

    def cancel(self, response_id: str) -> Response:
        """The response, cancelled. Raises APIError if it does not run."""
        response = self.find(response_id)
        if response["status"] not in _UNDER_WAY:
            raise refused("Cannot cancel a synchronous response.", "response_id")
        response["status"] = "cancelled"
        if response_id in self._stops:
            self._stops.pop(response_id)()
            self._recordings[response_id].abort()
        return response
