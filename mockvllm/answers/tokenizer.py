"""Text to token ids and back. Without a tokenizer's files a token is a word with the white space before it."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any, Literal, Protocol
from weakref import ref
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

    def encode_kept(self, text: str) -> tuple[Sequence[int], object]:
        """The ids of `text`, and something that keeps them from having no text: they have it as long as that lives."""
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
_GENERATION_WORDS = 250_000
_GENERATION_CHARS = 8_000_000
_LONGEST_REMEMBERED = 65_536
_CACHED_TEXTS = 64
_CACHED_CHARS = 32_768


class _Word(str):
    """A word that is known as long as somebody holds it."""

    __slots__ = ("__weakref__",)


class _Ids(dict[str, int]):
    """Word -> id: its CRC, so that it is the same in every run, or the next free id when two words share one.

    Two generations of words are remembered: when one is full, the words that were not met since the one before began
    are forgotten. Words that are kept (those of answers) live as long as their keeper, whatever else comes; very long
    words live only so.
    """

    def __init__(self, vocab_size: int, on_generation: Callable[[], object]) -> None:
        self._span = vocab_size - _SPECIAL_IDS
        self._on_generation = on_generation
        self._num_chars = 0
        self._words: dict[int, str] = {}
        self._words_before: dict[int, str] = {}
        self._kept: dict[int, ref[_Word]] = {}  # a WeakValueDictionary takes several times as long to ask

    def __missing__(self, word: str) -> int:
        token_id = self._place(word)
        if len(word) > _LONGEST_REMEMBERED:
            return token_id
        if len(self) >= _GENERATION_WORDS or self._num_chars >= _GENERATION_CHARS:
            self._next_generation()
        self[word] = token_id
        self._words[token_id] = word
        self._num_chars += len(word)
        return token_id

    def keep(self, word: str) -> _Word:
        token_id = self[word]
        held = self._kept.get(token_id)
        kept = None if held is None else held()
        if kept is None:
            kept = _Word(word)
            self._kept[token_id] = ref(kept, lambda _: self._kept.pop(token_id, None))
        return kept

    def word(self, token_id: int) -> str:
        """ "": it is of no word, or of a forgotten one."""
        word = self._words.get(token_id) or self._words_before.get(token_id)
        if word is None:
            held = self._kept.get(token_id)
            word = str(held() or "") if held is not None else ""
        return word

    def _place(self, word: str) -> int:
        place = crc32(word.encode("utf-8", "surrogatepass")) % self._span
        while (self.word(_SPECIAL_IDS + place) or word) != word:
            place = (place + 1) % self._span
        return _SPECIAL_IDS + place

    def _next_generation(self) -> None:
        self._words_before, self._words = self._words, {}
        self._num_chars = 0
        self.clear()
        self._on_generation()


class WordTokenizer:
    """A token is a word with the white space before it (the last one: also behind it), so any text survives exactly.

    It knows the words it has met of late, and those that are kept: any other id decodes to "".
    """

    vocab_size = 2**31
    eos_token_id = 1
    extra_end_ids: Sequence[int] = ()
    max_chars_per_token: int | None = None

    def __init__(self) -> None:
        self._special = {self.eos_token_id: "<|eot_id|>"}
        self._encode_cached = lru_cache(maxsize=_CACHED_TEXTS)(self._encode)
        self._ids = _Ids(self.vocab_size, self._encode_cached.cache_clear)  # cached ids do not outlive their texts
        self._fillers, self._kept_fillers = self.encode_kept(" " + LOREM)

    def encode(self, text: str, *, add_special_tokens: bool = False, limit: int | None = None) -> Sequence[int]:
        if len(text) <= _CACHED_CHARS:
            ids = self._encode_cached(text)
            return ids if limit is None else ids[:limit]
        if limit is None:
            return self._encode(text)
        return [self._ids[match[0]] for match in islice(_WORD.finditer(text), limit)]

    def encode_kept(self, text: str) -> tuple[Sequence[int], object]:
        words = _WORD.findall(text)
        kept = {word: self._ids.keep(word) for word in words}
        return [self._ids[word] for word in words], list(kept.values())

    def encode_cut(self, text: str, size: int, side: Side, *, add_special_tokens: bool = False) -> Sequence[int]:
        return cut(self.encode(text), size, side)

    def _encode(self, text: str) -> Sequence[int]:
        return list(map(self._ids.__getitem__, _WORD.findall(text)))

    def decode(self, ids: Sequence[int], *, skip_special_tokens: bool = False) -> str:
        return "".join(map(self.detokenizer(skip_special_tokens=skip_special_tokens), ids))

    def token_text(self, token_id: int) -> str:
        return self._special.get(token_id) or self._ids.word(token_id)

    def pieces(self, ids: Sequence[int]) -> list[str]:
        return [self.token_text(token_id) for token_id in ids]

    def info(self) -> Mapping[str, Any]:
        special = {str(token_id): text for token_id, text in self._special.items()}
        return {"tokenizer_class": type(self).__name__, "added_tokens_decoder": special}

    def detokenizer(self, *, skip_special_tokens: bool) -> Detokenize:
        return self._ids.word if skip_special_tokens else self.token_text

    def incomplete(self, ids: Sequence[int]) -> Sequence[int]:
        return ()

    def fillers(self) -> Iterable[int]:
        return self._fillers
