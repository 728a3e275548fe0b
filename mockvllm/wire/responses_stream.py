"""The events of a stream of /v1/responses, and what the items in it have in common."""

from typing import Any

from mockvllm.profiles.responses import ResponsesRules
from mockvllm.wire.jsontext import compact
from mockvllm.wire.responses_output import Item, Status, random_id


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
    """An item that is being said."""

    prefix = ""

    def __init__(self, events: Numbered, rules: ResponsesRules, index: int) -> None:
        self.id = random_id(self.prefix if rules.streamed_items_stay else "")
        self._texts: list[str] = []
        self._events = events
        self._rules = rules
        self._index = index

    @property
    def text(self) -> str:
        """All that was said so far."""
        return "".join(self._texts)

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
