"""Hashes of KV blocks, byte for byte as vLLM computes them (`hash_block_tokens`, `init_none_hash` of V1, 0.30 to 0.33).

A block's hash is `H(serialize((parent, token ids, extra keys)))`; the first block's parent is the NONE hash,
`H(serialize(seed))`.
"""

from collections.abc import Callable
from hashlib import sha256

from mockvllm.engine.kv_events import ExtraKeys
from mockvllm.engine.preimage import Cbor, Pickle
from mockvllm.engine.request import BlockHash

ALGORITHMS = ("sha256", "sha256_cbor", "xxhash", "xxhash_cbor")


def hash_seed(algorithm: str, python_hash_seed: str | None, random_hex: Callable[[], str]) -> str:
    """What the NONE hash is made of: the text of PYTHONHASHSEED if set, else a constant for the sha256 variants.

    The xxhash variants take `random_hex` (32 random bytes in hex): their hashes then differ from run to run.
    """
    if python_hash_seed is not None:
        return python_hash_seed
    return "vllm-none-hash" if algorithm.startswith("sha256") else random_hex()


def untagged(keys: ExtraKeys) -> tuple[str, ...] | None:
    """The bare values (LoRA name, salt): what 0.30 hashes, and what every release publishes in its KV events."""
    return tuple(key[1] for key in keys) if keys else None


def int_hash(digest: bytes) -> int:
    """The form of a hash in KV events (VLLM_KV_EVENTS_USE_INT_BLOCK_HASHES=1): its last 8 bytes, big-endian."""
    return int.from_bytes(digest[-8:], "big")


class BlockHasher:
    """The engine's `hash_block` for one `--prefix-caching-hash-algo` and one seed; its hashes are digests (bytes).

    `tagged`: extra keys are hashed with their tags (0.32 on) or bare (0.30). Raises ValueError for an unknown
    algorithm, and with the extra to install when xxhash is missing.
    """

    __slots__ = ("_digest", "_serializer", "_tagged", "none_hash")

    def __init__(self, algorithm: str, seed: str, *, tagged: bool = True) -> None:
        if algorithm not in ALGORITHMS:
            raise ValueError(f"--prefix-caching-hash-algo {algorithm}: choose from {', '.join(ALGORITHMS)}")
        self._serializer = Cbor() if algorithm.endswith("_cbor") else Pickle()
        self._digest = _sha256 if algorithm.startswith("sha256") else _xxhash()
        self._tagged = tagged
        self.none_hash = self._digest(self._serializer.seed(seed))

    def __call__(self, parent: BlockHash | None, token_ids: tuple[int, ...], keys: ExtraKeys) -> bytes:
        """The hash of a full block behind `parent` (None: the first block)."""
        before = parent if isinstance(parent, bytes) else self.none_hash
        extra = keys if self._tagged else untagged(keys)
        return self._digest(self._serializer.block(before, token_ids, extra))


def _sha256(data: bytes) -> bytes:
    return sha256(data).digest()


def _xxhash() -> Callable[[bytes], bytes]:
    try:
        from xxhash import xxh3_128_digest
    except ImportError as error:
        raise ValueError(
            "--prefix-caching-hash-algo: xxhash needs the package of that name: pip install 'mockvllm[kv-events]'"
        ) from error
    return xxh3_128_digest
