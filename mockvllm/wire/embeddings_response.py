"""The response of /v1/embeddings (vLLM 0.30-0.33), and how the numbers of a vector are packed."""

import base64
import struct
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from mockvllm.wire.embeddings import EmbeddingRequest
from mockvllm.wire.encoder import Said
from mockvllm.wire.errors import APIError, invalid
from mockvllm.wire.jsontext import compact
from mockvllm.wire.response import Response
from mockvllm.wire.usage import counts

Embedding = list[float] | str
_ORDERS = {"native": "<" if sys.byteorder == "little" else ">", "little": "<", "big": ">"}


def _floats(code: str) -> Callable[[str, Sequence[float]], bytes]:
    return lambda order, vector: struct.pack(f"{order}{len(vector)}{code}", *vector)


def _bfloat16(order: str, vector: Sequence[float]) -> bytes:
    """The upper half of a float32, rounded to the nearest, to the even one between two."""
    words = struct.unpack(f"={len(vector)}I", struct.pack(f"={len(vector)}f", *vector))
    halves = [(word + 0x7FFF + (word >> 16 & 1)) >> 16 for word in words]
    return struct.pack(f"{order}{len(halves)}H", *halves)


_PACKERS = {"float32": _floats("f"), "float16": _floats("e"), "bfloat16": _bfloat16}


def check_form(request: EmbeddingRequest) -> None:
    """Raises APIError for the forms of a vector that are not modelled."""
    if request.encoding_format in ("bytes", "bytes_only"):
        raise _not_modelled("encoding_format", request.encoding_format)
    if request.encoding_format == "base64" and request.embed_dtype not in _PACKERS:
        raise _not_modelled("embed_dtype", request.embed_dtype)


def _not_modelled(field: str, value: str) -> APIError:
    return APIError(501, f"mockvllm does not model {field}={value}", "NotImplementedError", field)


def encoded(vector: Sequence[float], request: EmbeddingRequest) -> Embedding:
    """As the request asks for it: the numbers of the model's float32, or base64 of their bytes."""
    if request.encoding_format == "float":
        return list(struct.unpack(f"{len(vector)}f", struct.pack(f"{len(vector)}f", *vector)))
    packed = _PACKERS[request.embed_dtype](_ORDERS[request.endianness], vector)
    return base64.b64encode(packed).decode()


@dataclass(frozen=True, slots=True)
class Dimensions:
    """`size`: numbers of a vector. `is_matryoshka`: its beginning is one too, of the sizes `listed` if any are."""

    size: int
    is_matryoshka: bool = False
    listed: Sequence[int] = ()

    def check(self, wanted: int | None, model: str) -> None:
        """Raises APIError for `dimensions` that the model does not have."""
        if wanted is None:
            return
        if not self.is_matryoshka:
            unset = f"dimensions must be unset (received dimensions={wanted})."
            raise invalid(f"Model '{model}' does not support Matryoshka embeddings; {unset}")
        if self.listed and wanted not in self.listed:
            only = f"only supports Matryoshka dimensions {list(self.listed)}"
            raise invalid(f"Model '{model}' {only}, got {wanted}.")
        if not 1 <= wanted <= self.size:
            raise invalid(f"Model '{model}' only supports dimensions in range [1, {self.size}], got {wanted}.")


class EmbeddingResponse(Response):
    """`embeddings`: makes those of all inputs, in their order, when they are needed."""

    embeddings: Callable[[], list[Embedding]]

    def prompt_details(self) -> None:
        return None

    def body(self, choices: Sequence[Said]) -> bytes:
        """Nothing is said: no completion tokens."""
        usage: dict[str, Any] = counts(self.num_prompt_tokens, 0)
        usage |= {"prompt_tokens_details": None, "completion_tokens_details": None}
        data = [
            {"index": index, "object": "embedding", "embedding": embedding}
            for index, embedding in enumerate(self.embeddings())
        ]
        head = {"id": self.id, "object": "list", "created": self.created, "model": self.shape.model}
        return compact({**head, "data": data, "usage": usage})
