"""Text to token ids and back. Without a tokenizer's files a token is a word with the white space before it."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any, Literal, Protocol
from zlib import crc32

LOREM = (
    "Lorem ipsum dolor sit amet, consectetur adipiscing elit, "
    "sed do eiusmod tempor incididunt ut labore et dolore magna aliqua. "
    "Ut enim ad minim veniam, quis nostrud exercitation ullamco laboris nisi ut aliquip ex ea commodo consequat. "
    "Duis aute irure dolor in reprehenderit in voluptate velit esse cillum dolore eu fugiat nulla pariatur. "
    "Excepteur sint occaecat cupidatat non proident, sunt in culpa qui officia deserunt mollit anim id est laborum."
)

Detokenize = Callable[[int], str]
"""The text that a token adds to the text of those before it; "" while a character is incomplete."""


Side = Literal["left", "right"]


def cut(ids: Sequence[int], size: int, side: Side) -> Sequence[int]:
    """At most `size` of `ids`: those beyond are cut off at `side`."""
    return ids[:size] if side == "right" else ids[max(0, len(ids) - size) :]


class Tokenizer(Protocol):
    """What the server needs of a tokenizer. Ids lie in `range(vocab_size)`."""

    vocab_size: int
    eos_token_id: int
    extra_end_ids: Sequence[int]
    """Further tokens that end a turn; unlike EOS, an answer that one of them ended names it as its `stop_reason`."""
    max_chars_per_token: int | None
    """Characters of the longest vocabulary entry; None: a token may be of any length."""

    def encode(self, text: str, *, add_special_tokens: bool = False, limit: int | None = None) -> Sequence[int]:
        """The ids of `text`, at most `limit` of them (the first ones). Not to be changed: they may be shared."""
        ...

    def encode_cut(self, text: str, size: int, side: Side, *, add_special_tokens: bool = False) -> Sequence[int]:
        """The ids of `text`, at most `size`: those beyond are cut off at `side`, special tokens last of all."""
        ...

    def decode(self, ids: Sequence[int], *, skip_special_tokens: bool = False) -> str:
        """The text of `ids`; unknown ids have none."""
        ...

    def token_text(self, token_id: int) -> str:
        """The text of one token alone, special tokens included."""
        ...

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """The vocabulary's entries of `ids`, as they stand there."""
        ...

    def info(self) -> Mapping[str, Any]:
        """Its own settings, `tokenizer_class` first."""
        ...

    def detokenizer(self, *, skip_special_tokens: bool) -> Detokenize:
        """A new incremental detokenizer, for one sequence of tokens."""
        ...

    def incomplete(self, ids: Sequence[int]) -> Sequence[int]:
        """The last of `ids`, if they end within a character."""
        ...

    def fillers(self) -> Iterable[int]:
        """Tokens to offer as alternatives where a script has none left."""
        ...


_WORD = re.compile(r"\s*\S+(?:\s+\Z)?|\s+")
_SPECIAL_IDS = 16  # ids below are kept for special tokens: no word ever gets one
_REMEMBERED_WORDS = 500_000
_REMEMBERED_CHARS = 16_000_000
_CACHED_TEXTS = 64
_CACHED_CHARS = 32_768


class _Ids(dict[str, int]):
    """Word -> id: its CRC, so that it is the same in every run, or the next free id when two words share one.

    When there are too many it starts anew: ids stay, texts of ids nobody has met since are forgotten.
    """

    def __init__(self, vocab_size: int) -> None:
        self._span = vocab_size - _SPECIAL_IDS
        self._num_chars = 0
        self.words: dict[int, str] = {}

    def __missing__(self, word: str) -> int:
        if len(self) >= _REMEMBERED_WORDS or self._num_chars >= _REMEMBERED_CHARS:
            self.clear()
            self.words.clear()
            self._num_chars = 0
        place = crc32(word.encode("utf-8", "surrogatepass")) % self._span
        while self.words.get(_SPECIAL_IDS + place, word) != word:
            place = (place + 1) % self._span
        token_id = self[word] = _SPECIAL_IDS + place
        self.words[token_id] = word
        self._num_chars += len(word)
        return token_id


class WordTokenizer:
    """A token is a word with the white space before it (the last one: also behind it), so any text survives exactly.

    It knows the words it has met: an id of no word decodes to "".
    """

    vocab_size = 2**31
    eos_token_id = 1
    extra_end_ids: Sequence[int] = ()
    max_chars_per_token: int | None = None

    def __init__(self) -> None:
        self._special = {self.eos_token_id: "<|eot_id|>"}
        self._ids = _Ids(self.vocab_size)
        self._encode_cached = lru_cache(maxsize=_CACHED_TEXTS)(self._encode)

    def encode(self, text: str, *, add_special_tokens: bool = False, limit: int | None = None) -> Sequence[int]:
        if len(text) <= _CACHED_CHARS:
            ids = self._encode_cached(text)
            return ids if limit is None else ids[:limit]
        if limit is None:
            return self._encode(text)
        return [self._ids[match[0]] for match in islice(_WORD.finditer(text), limit)]

    def encode_cut(self, text: str, size: int, side: Side, *, add_special_tokens: bool = False) -> Sequence[int]:
        return cut(self.encode(text), size, side)

    def _encode(self, text: str) -> Sequence[int]:
        return list(map(self._ids.__getitem__, _WORD.findall(text)))

    def decode(self, ids: Sequence[int], *, skip_special_tokens: bool = False) -> str:
        return "".join(map(self.detokenizer(skip_special_tokens=skip_special_tokens), ids))

    def token_text(self, token_id: int) -> str:
        return self._special.get(token_id) or self._ids.words.get(token_id, "")

    def pieces(self, ids: Sequence[int]) -> list[str]:
        return [self.token_text(token_id) for token_id in ids]

    def info(self) -> Mapping[str, Any]:
        special = {str(token_id): text for token_id, text in self._special.items()}
        return {"tokenizer_class": type(self).__name__, "added_tokens_decoder": special}

    def detokenizer(self, *, skip_special_tokens: bool) -> Detokenize:
        words = self._ids.words
        if skip_special_tokens:
            return lambda token_id: words.get(token_id, "")
        return self.token_text

    def incomplete(self, ids: Sequence[int]) -> Sequence[int]:
        return ()

    def fillers(self) -> Iterable[int]:
        return self.encode(" " + LOREM)
