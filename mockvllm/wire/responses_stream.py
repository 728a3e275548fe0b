"""The items of a stream of /v1/responses: opened by what is said, closed by what follows."""

from typing import Any

from mockvllm.profiles.responses import ResponsesRules
from mockvllm.wire.jsontext import compact
from mockvllm.wire.responses_output import (
    Entries,
    Item,
    Status,
    function_call_item,
    message_item,
    random_id,
    reasoning_item,
    reasoning_part,
    text_part,
)


class Numbered:
    """Writes events. Members stand in alphabetical order, and the number that all events count up among them."""

    def __init__(self) -> None:
        self._next = 0

    def event(self, kind: str, members: dict[str, Any], **behind: Any) -> bytes:
        """`behind`: members that stand behind the type."""
        ordered = dict(sorted({**members, "sequence_number": self._next}.items())) | {"type": kind} | behind
        self._next += 1
        return b"event: %b\ndata: %b\n\n" % (kind.encode(), compact(ordered))


class OpenItem:
    """An item that is being said. `text`: all of it so far."""

    prefix = ""

    def __init__(self, events: Numbered, rules: ResponsesRules, index: int) -> None:
        self.id = random_id(self.prefix if rules.streamed_items_stay else "")
        self.text = ""
        self._events = events
        self._rules = rules
        self._index = index

    def _event(self, kind: str, members: dict[str, Any], **behind: Any) -> bytes:
        return self._events.event(kind, {"item_id": self.id, "output_index": self._index, **members}, **behind)

    def _item_event(self, kind: str, item: Item) -> bytes:
        return self._events.event(f"response.output_item.{kind}", {"item": item, "output_index": self._index})

    def _part_event(self, kind: str, part: Item) -> bytes:
        return self._event(kind, {"content_index": 0, "part": part})

    def _text_event(self, kind: str, members: dict[str, Any]) -> bytes:
        return self._event(kind, {"content_index": 0, **members})

    def opened(self) -> bytes:
        raise NotImplementedError

    def item(self, status: Status) -> Item:
        """As it stands."""
        raise NotImplementedError

    def closed(self, status: Status) -> bytes:
        raise NotImplementedError

    def renewed(self) -> Item:
        """As a response that was not streamed shows it, with ids of its own (vLLM 0.30)."""
        raise NotImplementedError


class OpenMessage(OpenItem):
    """`logprobs`: the entries of what was said; None if they are not wanted."""

    prefix = "msg_"
    logprobs: Entries | None = None

    def opened(self) -> bytes:
        added = self._item_event("added", message_item(self.id, [], "in_progress"))
        return added + self._part_event("response.content_part.added", text_part("", []))

    def delta(self, text: str, logprobs: Entries | None) -> bytes:
        self.text += text
        shown = []
        if logprobs is not None:
            self.logprobs = [*(self.logprobs or ()), *logprobs]
            shown = [_without_bytes(entry) for entry in logprobs]
        return self._text_event("response.output_text.delta", {"delta": text, "logprobs": shown})

    def item(self, status: Status) -> Item:
        item = message_item(self.id, [self._part()], status)
        return item if self._rules.streamed_items_stay else {**item, "summary": []}

    def closed(self, status: Status) -> bytes:
        said = self._text_event("response.output_text.done", {"text": self.text, "logprobs": []})
        part = self._part_event("response.content_part.done", self._part())
        return said + part + self._item_event("done", self.item(status))

    def renewed(self) -> Item:
        return message_item(random_id(self.prefix), [text_part(self.text, self.logprobs)], "completed")

    def _part(self) -> Item:
        return text_part(self.text, self.logprobs if self._rules.streamed_items_stay else None)


class OpenReasoning(OpenItem):
    prefix = "rs_"

    def opened(self) -> bytes:
        added = self._item_event("added", reasoning_item(self.id, None, "in_progress"))
        return added + self._part_event(f"{self._rules.reasoning_part_event}.added", reasoning_part(""))

    def delta(self, text: str) -> bytes:
        self.text += text
        return self._text_event("response.reasoning_text.delta", {"delta": text})

    def item(self, status: Status) -> Item:
        return reasoning_item(self.id, [reasoning_part(self.text)], status)

    def closed(self, status: Status) -> bytes:
        said = self._text_event("response.reasoning_text.done", {"text": self.text})
        part = self._part_event(f"{self._rules.reasoning_part_event}.done", reasoning_part(self.text))
        return said + part + self._item_event("done", self.item(status))

    def renewed(self) -> Item:
        return reasoning_item(random_id(self.prefix), [reasoning_part(self.text)], None)


class OpenCall(OpenItem):
    """`call`: its index among the calls."""

    prefix = "fc_"

    def __init__(self, events: Numbered, rules: ResponsesRules, index: int, call: int, id: str, name: str) -> None:
        super().__init__(events, rules, index)
        self.call = call
        self._id = id
        self._call_id = id if rules.streamed_items_stay else random_id("call_")
        self._name = name

    def opened(self) -> bytes:
        return self._item_event("added", self.item("in_progress"))

    def delta(self, arguments: str) -> bytes:
        self.text += arguments
        return self._event("response.function_call_arguments.delta", {"delta": arguments})

    def item(self, status: Status) -> Item:
        return function_call_item(self.id, self._call_id, self._name, self.text, status)

    def closed(self, status: Status) -> bytes:
        said = b""
        if self.text:
            kind = "response.function_call_arguments.done"
            said = self._event(kind, {"arguments": self.text}, name=self._name)
        return said + self._item_event("done", self.item(status))

    def renewed(self) -> Item:
        return function_call_item(random_id(self.prefix), self._id, self._name, self.text, "completed")


def _without_bytes(entry: dict[str, Any]) -> dict[str, Any]:
    """An entry of a delta has less to show than that of a whole item."""
    tops = [{"token": top["token"], "logprob": top["logprob"]} for top in entry["top_logprobs"]]
    return {"token": entry["token"], "logprob": entry["logprob"], "top_logprobs": tops}
