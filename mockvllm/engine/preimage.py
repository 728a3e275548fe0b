"""The two serialisations that vLLM hashes blocks over: Python's pickle, protocol 5, and canonical CBOR (RFC 8949).

Both are written out for the few types a block is made of, so that the bytes depend neither on the interpreter's
version nor on which strings happen to be one object (pickle writes a reference for those; in a running vLLM each came
off the wire and is its own object).
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import lru_cache

Extra = None | str | tuple["Extra", ...]
_VOCABULARY = 1 << 17


class Serializer(ABC):
    """What a format must say of each type; `document` makes a whole of one value."""

    null: bytes

    def block(self, parent: bytes, token_ids: Sequence[int], extra: Extra) -> bytes:
        """The preimage of a block: the triple (parent, token ids, extra)."""
        tokens = self.array(list(map(self.integer, token_ids)))
        return self.document(self.array([self.data(parent), tokens, self._extra(extra)]))

    def seed(self, text: str) -> bytes:
        """The preimage of the NONE hash."""
        return self.document(self.text(text))

    def _extra(self, extra: Extra) -> bytes:
        if extra is None:
            return self.null
        return self.text(extra) if isinstance(extra, str) else self.array(list(map(self._extra, extra)))

    @staticmethod
    @abstractmethod
    def integer(value: int) -> bytes: ...
    @staticmethod
    @abstractmethod
    def data(value: bytes) -> bytes: ...
    @staticmethod
    @abstractmethod
    def text(value: str) -> bytes: ...
    @staticmethod
    @abstractmethod
    def array(items: Sequence[bytes]) -> bytes: ...
    @staticmethod
    @abstractmethod
    def document(value: bytes) -> bytes: ...


class Pickle(Serializer):
    """`pickle.dumps(value, protocol=5)`, for documents under 64 KiB (one frame) without a repeated object."""

    null = b"N"

    @staticmethod
    @lru_cache(_VOCABULARY)
    def integer(value: int) -> bytes:
        if 0 <= value < 1 << 8:
            return b"K" + value.to_bytes(1, "little")
        if 0 <= value < 1 << 16:
            return b"M" + value.to_bytes(2, "little")
        if -1 << 31 <= value < 1 << 31:
            return b"J" + value.to_bytes(4, "little", signed=True)
        size = (value if value >= 0 else ~value).bit_length() // 8 + 1
        return b"\x8a" + bytes((size,)) + value.to_bytes(size, "little", signed=True)

    @staticmethod
    def data(value: bytes) -> bytes:
        return _sized(value, b"C", b"B")

    @staticmethod
    def text(value: str) -> bytes:
        return _sized(value.encode(), b"\x8c", b"X")

    @staticmethod
    def array(items: Sequence[bytes]) -> bytes:
        if not items:
            return b")"
        start, end = (b"", b"\x84\x85\x86\x87"[len(items) : len(items) + 1]) if len(items) <= 3 else (b"(", b"t")
        return start + b"".join(items) + end + b"\x94"

    @staticmethod
    def document(value: bytes) -> bytes:
        return b"\x80\x05\x95" + (len(value) + 1).to_bytes(8, "little") + value + b"."


def _sized(data: bytes, short: bytes, long: bytes) -> bytes:
    size = len(data)
    return (short + size.to_bytes(1, "little") if size < 1 << 8 else long + size.to_bytes(4, "little")) + data + b"\x94"


class Cbor(Serializer):
    """Canonical CBOR; integers within 64 bits."""

    null = b"\xf6"

    @staticmethod
    @lru_cache(_VOCABULARY)
    def integer(value: int) -> bytes:
        return _head(0, value) if value >= 0 else _head(1, ~value)

    @staticmethod
    def data(value: bytes) -> bytes:
        return _head(2, len(value)) + value

    @staticmethod
    def text(value: str) -> bytes:
        return _head(3, len(value.encode())) + value.encode()

    @staticmethod
    def array(items: Sequence[bytes]) -> bytes:
        return _head(4, len(items)) + b"".join(items)

    @staticmethod
    def document(value: bytes) -> bytes:
        return value


def _head(major: int, value: int) -> bytes:
    if value < 24:
        return bytes((major << 5 | value,))
    code = next(code for code in range(4) if value < 1 << (8 << code))
    return bytes((major << 5 | 24 + code,)) + value.to_bytes(1 << code, "big")
