"""What is said under a grammar: the script as far as it is allowed, else what leads to an end. By llguidance."""

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from mockvllm.answers.structured_search import EndSearch, any_way_on, words

if TYPE_CHECKING:
    from llguidance import LLMatcher, LLTokenizer

_END = 256
_QUOTE = b'"'
_CLOSERS = (b'"}}', b'"}', b'"]', _QUOTE, b"}}", b"}", b"]")
"""What brings JSON nearer to its end, tried in this order."""
_ONWARDS = (_QUOTE, b",")
"""What leaves a string or a number, which could go on for ever, when no end is in sight."""
_CACHED_GRAMMARS = 64


class Constrained(NamedTuple):
    """`ended`: the grammar is satisfied and the turn is over; else the text is cut."""

    text: str
    ended: bool


def constrain(grammar: str, script: Sequence[str], limit: int) -> Constrained:
    """The script under a valid `grammar`.

    A piece waits until it is allowed; meanwhile the turn ends if it may, or what leads to its end is said, in no more
    than `limit` steps.
    """
    whole, walk = "".join(script), _Walk(grammar, limit)
    if not walk.say(_utf8(whole)):
        for piece in script:
            while not walk.say(_utf8(piece)):
                if walk.may_end or not walk.close():
                    return Constrained(walk.text, walk.may_end)
    while not walk.may_end and walk.close():
        pass
    return Constrained(walk.text, walk.may_end)


def shortest(grammar: str, limit: int, source: str = "") -> Constrained:
    """The shortest text that a valid `grammar` allows, as far as it is easily found.

    `source`: as somebody wrote it; its words may lead out of a text that could go on in any way.
    """
    walk = _Walk(grammar, limit, words(source))
    while not walk.may_end and walk.go_on():
        pass
    return Constrained(walk.text, walk.may_end)


def may_begin(grammar: str, piece: str) -> bool:
    """Whether a valid `grammar` allows `piece` at the beginning."""
    return _Walk(grammar, 0).say(_utf8(piece))


def allows(grammar: str, text: str) -> bool:
    """Whether all of `text` is what a valid `grammar` asks for."""
    walk = _Walk(grammar, 0)
    return walk.say(_utf8(text)) and walk.may_end


class _Walk:
    """A way through a grammar, byte by byte. `limit`: the steps that no script asks for."""

    def __init__(self, grammar: str, limit: int, hints: Sequence[bytes] = ()) -> None:
        self._matcher = _compiled(grammar).deep_copy()
        self._said = bytearray()
        self._ahead = b""  # how the text may end from here
        self._steps = limit
        self._search = EndSearch(hints)
        self._search_from = 0  # the text's length

    @property
    def text(self) -> str:
        return self._said.decode(errors="ignore")  # it may have been cut within a character

    @property
    def may_end(self) -> bool:
        return self._matcher.is_accepting()

    def say(self, text: bytes) -> bool:
        """Whether `text` is allowed here; then it is said."""
        taken = self._matcher.try_consume_tokens(list(text))
        if taken < len(text):
            self._matcher.rollback(taken)
            return False
        self._said += text
        self._ahead = b""
        return True

    def close(self) -> bool:
        """Say what closes JSON, else any step towards an end. False: there have been enough of them."""
        return self._say_one_of(_CLOSERS) or self.go_on()

    def go_on(self) -> bool:
        """Say one more byte towards an end. False: there have been enough of them."""
        ahead = self._ahead or self._look_ahead()
        if not ahead and self._say_one_of(_ONWARDS):
            return True
        ahead = ahead or any_way_on(self._matcher)
        if self._steps <= 0 or not self.say(ahead[:1]):
            return False
        self._steps -= 1
        self._ahead = ahead[1:]
        return True

    def _say_one_of(self, closers: Sequence[bytes]) -> bool:
        if self._steps <= 0 or not any(map(self.say, closers)):
            return False
        self._steps -= 1
        return True

    def _look_ahead(self) -> bytes:
        """The less often, the longer no end has been found."""
        if len(self._said) < self._search_from:
            return b""
        self._search_from = 2 * len(self._said) + 1
        return self._search.end_from(self._matcher)


class _ByteTokenizer:
    """A vocabulary of bytes, so that a grammar means the same whatever the model's tokens are."""

    eos_token_id = _END
    bos_token_id = None
    tokens = (*(bytes((value,)) for value in range(256)), b"<end>")
    special_token_ids = (_END,)

    def __call__(self, text: str | bytes) -> list[int]:
        return list(text if isinstance(text, bytes) else text.encode())


@lru_cache(maxsize=1)
def _tokenizer() -> "LLTokenizer":
    from llguidance import LLTokenizer, TokenizerWrapper  # an optional package

    return LLTokenizer(TokenizerWrapper(_ByteTokenizer()), n_vocab=_END + 1)


@lru_cache(maxsize=_CACHED_GRAMMARS)
def _compiled(grammar: str) -> "LLMatcher":
    from llguidance import LLMatcher

    return LLMatcher(_tokenizer(), grammar, log_level=0)


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", "replace")
