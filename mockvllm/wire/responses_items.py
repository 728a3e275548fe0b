"""Which item of a stream of /v1/responses what is said belongs to."""

from mockvllm.profiles.responses import ResponsesRules
from mockvllm.wire.responses_open_items import OpenCall, OpenMessage, OpenReasoning
from mockvllm.wire.responses_output import Entries, Item, Status
from mockvllm.wire.responses_stream import Numbered, OpenItem


class Items:
    """At most one item is open. `output`: those that are closed, as the last event shows them.

    `entries`: the log-probabilities of what is said next, if they are wanted.
    """

    def __init__(self, events: Numbered, rules: ResponsesRules) -> None:
        self.output: list[Item] = []
        self.entries: Entries | None = None
        self._events = events
        self._rules = rules
        self._open: OpenItem | None = None

    def text(self, text: str) -> bytes:
        if isinstance(self._open, OpenMessage):
            return self._open.delta(text, self.entries)
        item = OpenMessage(self._events, self._rules, self._next_index)
        return self._begin(item) + item.delta(text, self.entries)

    def reasoning(self, text: str) -> bytes:
        if isinstance(self._open, OpenReasoning):
            return self._open.delta(text)
        item = OpenReasoning(self._events, self._rules, self._next_index)
        return self._begin(item) + item.delta(text)

    def call(self, call: int, id: str, name: str) -> bytes:
        return self._begin(OpenCall(self._events, self._rules, self._next_index, call, id, name))

    def arguments(self, call: int, arguments: str) -> bytes:
        item = self._open
        return item.delta(arguments) if isinstance(item, OpenCall) and item.call == call else b""

    def close(self, status: Status = "completed") -> bytes:
        """`status`: of the item that is open."""
        item, self._open = self._open, None
        if item is None:
            return b""
        self.output.append(item.item(status) if self._rules.streamed_items_stay else item.renewed())
        return item.closed(status)

    @property
    def _next_index(self) -> int:
        return len(self.output) + (self._open is not None)

    def _begin(self, item: OpenItem) -> bytes:
        closed = self.close()
        self._open = item
        return closed + item.opened()
