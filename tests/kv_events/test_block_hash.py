"""Block hashes against every example recorded from vLLM, both serialisations against independent writers."""

import pickle
import sys
from hashlib import sha256
from typing import Any

import cbor2
import pytest
import recordings
from hypothesis import given
from hypothesis import strategies as st

from mockvllm.engine.block_hash import ALGORITHMS, BlockHasher, hash_seed, int_hash, untagged
from mockvllm.engine.hashing import extend_block_hashes, extra_keys
from mockvllm.engine.preimage import Cbor, Pickle
from mockvllm.engine.request import Request

RECORDED = {name: recordings.load(f"hashes_{name}") for name in ("0.30", "0.33")}
ENTRIES = [(profile, entry) for profile, recorded in RECORDED.items() for entry in recorded["entries"]]


def never() -> str:
    raise AssertionError("no chance is wanted here")


def request_of(tokens: list[int], salt: str | None = None, lora: tuple[str, str] | None = None) -> Request:
    name, path = lora or (None, None)
    return Request("r", tokens, 1, recordings.Speech(0), 0.0, cache_salt=salt, lora_name=name, lora_path=path)


def request_of_case(case: dict[str, Any]) -> Request:
    lora = case.get("lora")
    return request_of(case["tokens"], case.get("cache_salt"), (lora[0], lora[2]) if lora else None)


def blocks_of(hasher: BlockHasher, case: dict[str, Any]) -> list[Any]:
    request = request_of_case(case)
    extend_block_hashes(request, len(case["tokens"]) // case["block_size"], case["block_size"], hasher)
    return request.block_hashes


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
        keys = extra_keys(request_of_case(case), 0)
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
    one, two, last = ((token,) for token in tokens)
    first, other = hasher(None, one, None), hasher(None, two, None)
    behind = {hasher(first, last, None), hasher(other, last, None), hasher(None, last, None)}
    salted = hasher(None, one, (("cache_salt", "tenant"),))
    assert len(behind | {first, other, salted}) == 6


def test_bare_values_are_what_the_tags_label() -> None:
    request = request_of([1, 2], "tenant", ("support", "/adapters/support"))
    assert [untagged(extra_keys(request, index)) for index in (0, 1)] == [("support", "tenant"), ("support",)]
    assert untagged(extra_keys(request_of([1], ""), 0)) is None


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_seed_rule(algorithm: str) -> None:
    assert hash_seed(algorithm, "7", never) == "7"
    assert hash_seed(algorithm, "", never) == ""
    unset = hash_seed(algorithm, None, lambda: "ab" * 32)
    assert unset == ("vllm-none-hash" if algorithm.startswith("sha256") else "ab" * 32)


def test_an_unknown_algorithm_names_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"--prefix-caching-hash-algo md5: choose from sha256, sha256_cbor, xxhash"):
        BlockHasher("md5", "0")


def test_without_xxhash_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "xxhash", None)
    with pytest.raises(ValueError, match=r"^--prefix-caching-hash-algo: .* pip install 'mockvllm\[kv-events\]'"):
        BlockHasher("xxhash_cbor", "0")
