"""The response of /v1/responses to one request: events and body."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from mockvllm.profiles.responses import ResponsesRules
from mockvllm.wire.answer import StreamAnswer
from mockvllm.wire.encoder import Delta, End, Said
from mockvllm.wire.errors import APIError
from mockvllm.wire.jsontext import compact
from mockvllm.wire.responses_items import Items
from mockvllm.wire.responses_object import Response, ResponseObject, ResponseStatus, Usage
from mockvllm.wire.responses_output import Entries, Item, Status, logprob_entry, message_item, random_id, text_part
from mockvllm.wire.responses_stream import Numbered
from mockvllm.wire.usage import EngineFacts

Logprobs = Callable[[int, Delta], Entries]
_STATUSES: dict[str, ResponseStatus] = {"length": "incomplete", "abort": "cancelled"}
"""What finish reasons make of a response; any other completes it."""


class Wanted(NamedTuple):
    """What a request asks for besides the text. `prompt`: to be shown, with its tokens. `keep` gets the response."""

    logprobs: Logprobs | None = None
    prompt: tuple[str, Sequence[int]] | None = None
    keep: Callable[[Response], None] | None = None


class ResponsesStream(StreamAnswer):
    """It begins before there is a token, and who fails later cuts it off (vLLM 0.30 to 0.33)."""

    cut_by_failure = True

    def begin(self) -> bytes:
        return self._opening()


class ResponsesResponse:
    """`facts`: the engine's notes; none if the request is refused."""

    is_plain = False

    def __init__(
        self,
        shown: ResponseObject,
        rules: ResponsesRules,
        num_prompt_tokens: int,
        facts: Sequence[EngineFacts],
        wanted: Wanted,
    ) -> None:
        self.num_prompt_tokens = num_prompt_tokens
        self._object = shown
        self._rules = rules
        self._facts = facts
        self._wanted = wanted
        self._events = Numbered()
        self._items = Items(self._events, rules)
        self._end = End("stop")
        self._said: list[Delta] = []
        self._entries: Entries | None = None if wanted.logprobs is None else []

    # --- a stream -------------------------------------------------------------------------------------------------

    def opening(self) -> bytes:
        begun = self._object.begun("in_progress")
        created = self._events.event("response.created", {"response": begun})
        return created + self._events.event("response.in_progress", {"response": begun})

    def frame(self, index: int) -> tuple[bytes, bytes]:
        raise TypeError("events are numbered")

    def delta(self, index: int, delta: Delta, num_tokens: int) -> bytes:
        entries = self._say(delta)
        return self._items.text(delta.text, entries) if delta.text else b""

    def finish(self, index: int, delta: Delta, num_tokens: int, end: End) -> bytes:
        self._end = end
        return self.delta(index, delta, num_tokens)

    def closing(self, num_completion_tokens: int) -> bytes:
        closed = self._items.close(self._last_status(self._end))
        response = self._response(self._end, self._streamed(), num_completion_tokens)
        kind = "incomplete" if self._is_cut(self._end) and self._rules.cut_is_incomplete else "completed"
        return closed + self._events.event(f"response.{kind}", {"response": response})

    def failure(self, error: APIError) -> bytes:
        return self.opening()

    def _streamed(self) -> list[Item]:
        """The items of the last event."""
        if self._rules.streamed_items_stay and self._items.done:
            return self._items.done
        return self._output(self._end)

    # --- a whole body ---------------------------------------------------------------------------------------------

    def body(self, choices: Sequence[Said]) -> bytes:
        (said,) = choices
        self._say(said.delta)
        return compact(self._response(said.end, self._output(said.end), len(said.delta.token_ids)))

    # --- both -----------------------------------------------------------------------------------------------------

    def _say(self, delta: Delta) -> Entries | None:
        """Remember what is said. Gives its log-probabilities, if they are wanted."""
        self._said.append(delta)
        if self._entries is None or self._wanted.logprobs is None:
            return None
        entries = [logprob_entry(entry) for entry in self._wanted.logprobs(0, delta)]
        self._entries += entries
        return entries

    def _output(self, end: End) -> list[Item]:
        """The items of the whole answer."""
        text = self._text
        content = [text_part(text, self._entries)] if text else []
        return [message_item(random_id("msg_"), content, self._last_status(end))]

    def _response(self, end: End, output: Sequence[Item], num_tokens: int) -> Response:
        status = _STATUSES.get(end.finish_reason, "completed")
        facts = self._facts[0] if self._facts else None
        usage = Usage(self.num_prompt_tokens, num_tokens)
        response = self._object.ended(status, output, usage, facts, self._messages())
        if self._wanted.keep is not None:
            self._wanted.keep(response)
        return response

    def _messages(self) -> tuple[Any, Any]:
        if self._wanted.prompt is None:
            return None, None
        token_ids = [token_id for delta in self._said for token_id in delta.token_ids]
        return [_raw_message(*self._wanted.prompt)], [_raw_message(self._text, token_ids)]

    @property
    def _text(self) -> str:
        return "".join([delta.text for delta in self._said])

    def _is_cut(self, end: End) -> bool:
        return end.finish_reason == "length"

    def _last_status(self, end: End) -> Status:
        return "incomplete" if self._is_cut(end) and self._rules.cut_is_incomplete else "completed"


def _raw_message(text: str, token_ids: Sequence[int]) -> dict[str, Any]:
    return {"message": text, "tokens": list(token_ids), "type": "raw_message_tokens"}
