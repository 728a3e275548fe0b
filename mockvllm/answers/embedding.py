"""Embeddings without a model: the same tokens give the same vector, and texts that share tokens are near each other."""

import hashlib
import struct
from collections import Counter
from collections.abc import Sequence
from math import sqrt

FEATURES = 16
"""How many of the vector's numbers a token moves."""
ORDER = 0.2
"""How far the order of the tokens turns the vector, as a share of what the tokens themselves make of it."""
_DRAWS = struct.Struct(f"<{FEATURES}I")


def embedding(token_ids: Sequence[int], size: int, seed: int = 0) -> list[float]:
    """`size` numbers: a random projection of the counts of the tokens, turned a little by their order."""
    tokens, order = _of_tokens(token_ids, size, seed), _of_order(token_ids, size, seed)
    share = ORDER * (_norm(tokens) or 1.0) / _norm(order)  # tokens may cancel each other out, an order is never 0
    return [token + share * turn for token, turn in zip(tokens, order, strict=True)]


def normalized(vector: Sequence[float]) -> list[float]:
    """Of length 1, unless it has none."""
    norm = _norm(vector) or 1.0
    return [value / norm for value in vector]


def _of_tokens(token_ids: Sequence[int], size: int, seed: int) -> list[float]:
    vector = [0.0] * size
    for token_id, count in Counter(token_ids).items():
        digest = hashlib.blake2b(f"{seed}:{token_id}".encode(), digest_size=_DRAWS.size).digest()
        weight = sqrt(count)
        for draw in _DRAWS.unpack(digest):
            vector[(draw >> 1) % size] += weight if draw & 1 else -weight
    return vector


def _of_order(token_ids: Sequence[int], size: int, seed: int) -> list[float]:
    said = f"{seed}:{','.join(map(str, token_ids))}".encode()
    return [byte - 127.5 for byte in hashlib.shake_256(said).digest(size)]


def _norm(vector: Sequence[float]) -> float:
    return sqrt(sum(value * value for value in vector))
