"""Block hashes against every example recorded from vLLM, both serialisations against independent writers."""

import json
import pickle
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any

import cbor2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockvllm.engine.block_hash import ALGORITHMS, BlockHasher, extra_keys, hash_seed, int_hash, untagged
from mockvllm.engine.preimage import Cbor, Pickle

DATA = Path(__file__).parent.parent / "data" / "kv_events"
RECORDED = {name: json.loads((DATA / f"hashes_{name}.json").read_text("utf-8")) for name in ("0.30", "0.33")}
ENTRIES = [(profile, entry) for profile, recorded in RECORDED.items() for entry in recorded["entries"]]


def never() -> str:
    raise AssertionError("no chance is wanted here")


def blocks_of(hasher: BlockHasher, case: dict[str, Any]) -> list[bytes]:
    size, tokens, lora = case["block_size"], case["tokens"], case.get("lora")
    hashes: list[bytes] = []
    for start in range(0, len(tokens) - size + 1, size):
        keys = extra_keys((lora[0], lora[2]) if lora else None, case.get("cache_salt"), first=start == 0)
        hashes.append(hasher(hashes[-1] if hashes else None, tokens[start : start + size], keys))
    return hashes


@pytest.mark.parametrize(
    ("profile", "entry"), ENTRIES, ids=[f"{p}-{e['algorithm']}-seed-{e['PYTHONHASHSEED']}" for p, e in ENTRIES]
)
def test_every_recorded_hash(profile: str, entry: dict[str, Any]) -> None:
    algorithm = entry["algorithm"]
    seed = hash_seed(algorithm, entry["PYTHONHASHSEED"], never)
    hasher = BlockHasher(algorithm, seed, tagged=profile != "0.30")
    assert hasher.none_hash.hex() == entry["none_hash_hex"]
    for case, blocks in zip(RECORDED[profile]["cases"], entry["blocks"], strict=True):
        hashes = blocks_of(hasher, case)
        assert [h.hex() for h in hashes] == [block["hash_hex"] for block in blocks], case["name"]
        assert [int_hash(h) for h in hashes] == [block["int64"] for block in blocks], case["name"]


@pytest.mark.parametrize(("profile", "entry"), ENTRIES[:2] + ENTRIES[10:12])
def test_every_recorded_preimage(profile: str, entry: dict[str, Any]) -> None:
    serializer = Cbor() if entry["algorithm"].endswith("cbor") else Pickle()
    for case, blocks in zip(RECORDED[profile]["cases"], entry["blocks"], strict=True):
        lora = case.get("lora")
        keys = extra_keys((lora[0], lora[2]) if lora else None, case.get("cache_salt"), first=True)
        preimage = serializer.block(
            bytes.fromhex(entry["none_hash_hex"]),
            case["tokens"][: case["block_size"]],
            keys if profile != "0.30" else untagged(keys),
        )
        block = blocks[0]
        if "preimage_hex" in block:
            assert preimage.hex() == block["preimage_hex"], case["name"]
        else:
            assert len(preimage) == block["preimage_len"], case["name"]
            assert sha256(preimage).hexdigest() == block["preimage_sha256"], case["name"]


SALTS = st.text(st.characters(codec="utf-8"), max_size=400)
PARENTS = st.binary(min_size=1, max_size=40) | st.binary(min_size=256, max_size=300)
TOKENS = st.lists(st.integers(-(2**63), 2**63 - 1), max_size=300)


@given(PARENTS, TOKENS, SALTS)
def test_pickle_writes_what_python_pickles(parent: bytes, token_ids: list[int], salt: str) -> None:
    extra = (("cache_salt", salt),)
    assert Pickle().block(parent, token_ids, extra) == pickle.dumps((parent, tuple(token_ids), extra), protocol=5)
    assert Pickle().seed(salt) == pickle.dumps(salt, protocol=5)


@given(PARENTS, TOKENS, SALTS)
def test_cbor_writes_what_a_cbor_library_writes(parent: bytes, token_ids: list[int], salt: str) -> None:
    extra = (("cache_salt", salt),)
    assert Cbor().block(parent, token_ids, extra) == cbor2.dumps((parent, tuple(token_ids), extra), canonical=True)
    assert Cbor().seed(salt) == cbor2.dumps(salt, canonical=True)


@given(st.lists(st.integers(0, 200_000), min_size=3, max_size=3, unique=True), st.sampled_from(ALGORITHMS))
def test_a_hash_depends_on_everything_before_it(tokens: list[int], algorithm: str) -> None:
    hasher = BlockHasher(algorithm, "0")
    first, other = hasher(None, tokens[:1]), hasher(None, tokens[1:2])
    behind = {hasher(first, tokens[2:]), hasher(other, tokens[2:]), hasher(None, tokens[2:])}
    salted = hasher(None, tokens[:1], extra_keys(None, "tenant", first=True))
    assert len(behind | {first, other, salted}) == 6


def test_the_salt_is_on_the_first_block_and_the_adapter_on_each() -> None:
    lora = ("support", "/adapters/support")
    assert extra_keys(lora, "tenant", first=True) == (("lora", *lora), ("cache_salt", "tenant"))
    assert extra_keys(lora, "tenant", first=False) == (("lora", *lora),)
    assert extra_keys(None, "", first=True) is None
    assert untagged(extra_keys(lora, "tenant", first=True)) == ("support", "tenant")


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_seed_rule(algorithm: str) -> None:
    assert hash_seed(algorithm, "7", never) == "7"
    assert hash_seed(algorithm, "", never) == ""
    unset = hash_seed(algorithm, None, lambda: "ab" * 32)
    assert unset == ("vllm-none-hash" if algorithm.startswith("sha256") else "ab" * 32)


def test_an_unknown_algorithm_names_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"prefix_caching_hash_algo 'md5': choose from sha256, sha256_cbor, xxhash"):
        BlockHasher("md5", "0")


def test_without_xxhash_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "xxhash", None)
    with pytest.raises(ImportError, match=r"pip install 'mockvllm\[kv-events\]'"):
        BlockHasher("xxhash_cbor", "0")
