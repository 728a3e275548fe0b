"""The response of /v1/responses: what a chat's choice says, as items, in events and a body of their own."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from mockvllm.profiles.responses import ResponsesRules
from mockvllm.wire.answer import StreamAnswer
from mockvllm.wire.chat_events import ChatResponse
from mockvllm.wire.encoder import Delta, End, Said
from mockvllm.wire.errors import APIError
from mockvllm.wire.jsontext import compact
from mockvllm.wire.parts import told
from mockvllm.wire.responses_items import Items
from mockvllm.wire.responses_object import Response, ResponseObject, ResponseStatus, Usage
from mockvllm.wire.responses_output import Entries, Status, logprob_entry, message_item, random_id, whole_items
from mockvllm.wire.responses_stream import Numbered

_STATUSES: dict[str, ResponseStatus] = {"length": "incomplete", "abort": "cancelled"}
"""What finish reasons make of a response; any other completes it."""


class Wanted(NamedTuple):
    """What a request asks for besides the text. `prompt`: to be shown, with its tokens. `keep` gets the response."""

    prompt: tuple[str, Sequence[int]] | None = None
    keep: Callable[[Response], None] | None = None


class ResponsesStream(StreamAnswer):
    """It begins before there is a token, and who fails later cuts it off (vLLM 0.30 to 0.33)."""

    cut_by_failure = True

    def begin(self) -> bytes:
        return self._opening()

    def broken(self, error: APIError) -> bytes:
        self._encoder.error_body(error)
        return b""


class ResponsesResponse:
    """`chat`: knows what its choice says. `parsed`: by a parser; without one there is always a message."""

    is_plain = False

    def __init__(
        self, shown: ResponseObject, rules: ResponsesRules, chat: ChatResponse, wanted: Wanted, *, parsed: bool
    ) -> None:
        self.num_prompt_tokens = chat.num_prompt_tokens
        self._object = shown
        self._rules = rules
        self._chat = chat
        self._wanted = wanted
        self._parsed = parsed
        self._events = Numbered()
        self._items = Items(self._events, rules)
        self._end = End("stop")
        self._said: list[Delta] = []

    # --- a stream -------------------------------------------------------------------------------------------------

    def opening(self) -> bytes:
        begun = self._object.begun("in_progress")
        created = self._events.event("response.created", {"response": begun})
        return created + self._events.event("response.in_progress", {"response": begun})

    def frame(self, index: int) -> tuple[bytes, bytes]:
        raise TypeError("events are numbered")

    def delta(self, index: int, delta: Delta, num_tokens: int) -> bytes:
        return self._add(delta, self._chat.message_delta(index, delta))

    def finish(self, index: int, delta: Delta, num_tokens: int, end: End) -> bytes:
        self._end = end
        return self._add(delta, self._chat.message_delta(index, delta, finished=True))

    def closing(self, num_completion_tokens: int) -> bytes:
        closed = self._items.close(self._last_status(self._end))
        output = self._items.output
        if not (output or self._parsed):
            output = [message_item(random_id("msg_"), [], self._last_status(self._end))]
        response = self._response(self._end, output, num_completion_tokens)
        kind = "incomplete" if self._last_status(self._end) == "incomplete" else "completed"
        return closed + self._events.event(f"response.{kind}", {"response": response})

    def failure(self, error: APIError) -> bytes:
        return self.opening()

    def error_body(self, error: APIError) -> bytes:
        if self._wanted.keep is not None:
            self._wanted.keep(self._object.begun("failed"))
        return error.body()

    def _add(self, delta: Delta, message: Mapping[str, Any] | None) -> bytes:
        self._remember(delta)
        self._items.entries = self._entries(delta)
        return told(message, self._items)

    # --- a whole body ---------------------------------------------------------------------------------------------

    def body(self, choices: Sequence[Said]) -> bytes:
        (said,) = choices
        self._remember(said.delta)
        message, entries = self._chat.message(0, said), self._entries(said.delta)
        output = whole_items(message, entries, self._last_status(said.end), always_message=not self._parsed)
        return compact(self._response(said.end, output, len(said.delta.token_ids)))

    # --- both -----------------------------------------------------------------------------------------------------

    def _response(self, end: End, output: Sequence[dict[str, Any]], num_tokens: int) -> Response:
        details = self._chat.completion_details() or {"reasoning_tokens": 0}
        usage = Usage(self.num_prompt_tokens, num_tokens, details["reasoning_tokens"])
        facts = self._chat.facts[0] if self._chat.facts else None
        status = _STATUSES.get(end.finish_reason, "completed")
        response = self._object.ended(status, output, usage, facts, self._messages())
        if self._wanted.keep is not None:
            self._wanted.keep(response)
        return response

    def _remember(self, delta: Delta) -> None:
        if self._wanted.prompt is not None:
            self._said.append(delta)

    def _messages(self) -> tuple[Any, Any]:
        if self._wanted.prompt is None:
            return None, None
        text = "".join([delta.text for delta in self._said])
        token_ids = [token_id for delta in self._said for token_id in delta.token_ids]
        return [_raw_message(*self._wanted.prompt)], [_raw_message(text, token_ids)]

    def _entries(self, delta: Delta) -> Entries | None:
        logprobs = self._chat.logprobs
        return None if logprobs is None else [logprob_entry(entry) for entry in logprobs(0, delta)]

    def _last_status(self, end: End) -> Status:
        """Of the item that is said last."""
        return "incomplete" if end.finish_reason == "length" and self._rules.cut_is_incomplete else "completed"


def _raw_message(text: str, token_ids: Sequence[int]) -> dict[str, Any]:
    return {"message": text, "tokens": list(token_ids), "type": "raw_message_tokens"}
