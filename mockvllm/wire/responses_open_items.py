"""The kinds of items in a stream of /v1/responses: opened by what is said, closed by what follows."""

from typing import Any

from mockvllm.profiles.responses import ResponsesRules
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
from mockvllm.wire.responses_stream import Numbered, OpenItem


class OpenMessage(OpenItem):
    prefix = "msg_"

    def __init__(self, events: Numbered, rules: ResponsesRules, index: int) -> None:
        super().__init__(events, rules, index)
        self._logprobs: Entries | None = None

    def opened(self) -> bytes:
        added = self._item_event("added", message_item(self.id, [], "in_progress"))
        return added + self._part_event("response.content_part.added", text_part("", []))

    def delta(self, text: str, logprobs: Entries | None) -> bytes:
        self._texts.append(text)
        shown = []
        if logprobs is not None:
            self._logprobs = self._logprobs or []
            self._logprobs += logprobs
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
        return message_item(random_id(self.prefix), [text_part(self.text, self._logprobs)], "completed")

    def _part(self) -> Item:
        return text_part(self.text, self._logprobs if self._rules.streamed_items_stay else None)


class OpenReasoning(OpenItem):
    prefix = "rs_"

    def opened(self) -> bytes:
        added = self._item_event("added", reasoning_item(self.id, None, "in_progress"))
        return added + self._part_event(f"{self._rules.reasoning_part_event}.added", reasoning_part(""))

    def delta(self, text: str) -> bytes:
        self._texts.append(text)
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
        self._texts.append(arguments)
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
