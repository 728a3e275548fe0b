"""A script: the tokens a choice will say, their texts, and the texts as they stand in JSON."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice

Said = tuple[int, str]
"""A token, and the text it adds."""

Escape = Callable[[str], bytes]
"""A text as the inside of a JSON string."""

Origin = Mapping[str, str]
"""Who decided what is said: `source` (`default`, `say`, `eos`, `mock`, `header`, `body`); what it is: `answer`."""

_GROWTH = 64


class Speech:
    """A list of tokens that grows as far as it is asked for, from an endless or finite source; requests may share it.

    `ids`, `texts` and `pieces` run in step: a token's id, the text it adds (special tokens: none if they are skipped),
    and that text escaped for JSON. `kept`: what keeps the tokenizer from forgetting the texts (`encode_kept`).
    """

    __slots__ = ("_escape", "_known", "_source", "ids", "kept", "pieces", "texts")

    def __init__(self, source: Iterable[Said], escape: Escape, kept: object = None) -> None:
        self.kept = kept
        self.ids: list[int] = []
        self.texts: list[str] = []
        self.pieces: list[bytes] = []
        self._source: Iterator[Said] = iter(source)
        self._escape = escape
        self._known: dict[str, bytes] = {}  # one object for each different text, however long the speech

    def grow(self, stop: int) -> None:
        """Make tokens up to `stop` (exclusive) available, as far as the source goes."""
        for token_id, text in islice(self._source, max(stop - len(self.ids), _GROWTH, len(self.ids))):
            piece = self._known.get(text)
            if piece is None:
                piece = self._known[text] = self._escape(text)
            self.ids.append(token_id)
            self.texts.append(text)
            self.pieces.append(piece)


class Script:
    """A speech, and the number of tokens after which it ends by itself (None: never). The engine's `TokenSource`."""

    __slots__ = ("end", "origin", "speech")

    def __init__(self, speech: Speech, end: int | None, origin: Origin) -> None:
        self.speech = speech
        self.end = end
        self.origin = origin

    def token(self, index: int) -> int:
        ids = self.speech.ids
        if index >= len(ids):
            self.speech.grow(index + 1)
        return ids[index]

    def tokens(self, start: int, stop: int) -> Sequence[int]:
        if stop > len(self.speech.ids):
            self.speech.grow(stop)
        return self.speech.ids[start:stop]
