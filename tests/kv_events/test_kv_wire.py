"""The real engine runs the recorded requests in process: every message it publishes equals vLLM's, byte for byte."""

from typing import Any

import msgspec
import pytest
import recordings
from hypothesis import given
from hypothesis import strategies as st

from mockvllm.engine import Request
from mockvllm.engine.kv_events import AllBlocksCleared, BlockRemoved, BlockStored
from mockvllm.profiles import load
from mockvllm.server.kv_events import KVEvents
from mockvllm.server.kv_events_config import KVEventsConfig
from mockvllm.server.kv_wire import Batch, BatchEncoder

RECORDED = {name: recordings.load(f"wire_{name}") for name in ("0.30", "0.32", "0.33", "bytes", "topic_rank2")}


class Kept:
    """A publisher that keeps the payloads."""

    def __init__(self, encode: BatchEncoder) -> None:
        self.config = KVEventsConfig()
        self.payloads: list[bytes] = []
        self._encode = encode

    def publish(self, batch: Batch) -> None:
        self.payloads.append(self._encode(batch))

    def close(self) -> None:
        pass


def replayed(recorded: dict[str, Any], async_scheduling: bool) -> list[bytes]:
    config, env = recorded["config"], recorded["env"]
    rules = recordings.rules_of(recorded)
    encode = BatchEncoder(
        config["data_parallel_rank"],
        lookahead_token_ids=rules.lookahead_token_ids,
        int_hashes=bool(env["VLLM_KV_EVENTS_USE_INT_BLOCK_HASHES"]),
        labels=recordings.labels,
    )
    published = Kept(encode)
    listener = KVEvents(published, recordings.pinned_time().__next__)
    engine = recordings.engine_of(recorded, listener, async_scheduling)
    recordings.play(recorded, engine)
    return published.payloads


@pytest.mark.parametrize("async_scheduling", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("name", RECORDED)
def test_every_payload_equals_the_recording(name: str, async_scheduling: bool) -> None:
    recorded = RECORDED[name]
    payloads = [payload.hex() for payload in replayed(recorded, async_scheduling)]
    assert payloads == [frames[2] for frames in recorded["messages"]]


EXTRA = st.none() | st.just((("lora", "support", "/adapters/support"),)) | st.just((("cache_salt", "tenant"),))
HASHES = st.binary(min_size=16, max_size=32)


@given(st.data())
def test_a_consumer_decodes_what_happened(data: st.DataObject) -> None:
    hashes = data.draw(st.lists(HASHES, min_size=1, max_size=4))
    tokens = tuple(data.draw(st.lists(st.integers(0, 2**32), min_size=2 * len(hashes), max_size=2 * len(hashes))))
    extra = tuple(data.draw(EXTRA) for _ in hashes)
    parent, rank, lookahead = data.draw(st.none() | HASHES), data.draw(st.integers(0, 9)), data.draw(st.booleans())
    request = Request("r", tokens, 1, recordings.Speech(0), 0.0, lora_name=data.draw(st.none() | st.text()))
    stored = BlockStored(request, tuple(hashes), parent, tokens, 2, extra)
    encode = BatchEncoder(rank, lookahead_token_ids=lookahead, int_hashes=False)
    ts, events, said_rank = msgspec.msgpack.decode(
        encode(Batch(1.5, [BlockRemoved(hashes[0]), stored, AllBlocksCleared()]))
    )
    assert (ts, said_rank) == (1.5, rank)
    assert events[0] == {"type": "BlockRemoved", "block_hashes": [hashes[0]], "medium": "GPU", "group_idx": 0}
    assert events[1] == {
        "type": "BlockStored",
        "block_hashes": hashes,
        "parent_block_hash": parent,
        "token_ids": list(tokens),
        "block_size": 2,
        "lora_id": None,
        "medium": "GPU",
        "lora_name": request.lora_name,
        "extra_keys": [keys and [key[1] for key in keys] for keys in extra],
        "group_idx": 0,
        "kv_cache_spec_kind": "full_attention",
    }
    assert events[2] == {"type": "AllBlocksCleared"}


@pytest.mark.parametrize(("profile", "header"), [("0.30", "8b"), ("0.32", "8b"), ("0.33", "de000b")])
def test_the_map_header_of_a_stored_block(profile: str, header: str) -> None:
    encode = BatchEncoder(0, lookahead_token_ids=load(profile).scheduler.lookahead_token_ids)
    request = Request("r", (1,), 1, recordings.Speech(0), 0.0)
    payload = encode(Batch(0.0, [BlockStored(request, (b"\x01" * 8,), None, (1,), 1, (None,))]))
    assert payload.hex().startswith("93cb" + "00" * 8 + "91" + header)
