"""The recordings of vLLM's KV events under `tests/data/kv_events`, and the requests that made them."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mockvllm.engine import Engine, EngineCore, EngineListener, Linear, Request, SchedulerConfig
from mockvllm.profiles import load as load_profile
from mockvllm.profiles.scheduler import SchedulerRules
from mockvllm.server.kv_events import block_hasher
from mockvllm.server.kv_wire import Labels

DATA = Path(__file__).parent.parent / "data" / "kv_events"


def load(name: str) -> dict[str, Any]:
    recording: dict[str, Any] = json.loads((DATA / f"{name}.json").read_text("utf-8"))
    return recording


@dataclass(frozen=True)
class Speech:
    """Says `first`, `first` + 1, ... without end."""

    first: int
    end: int | None = None

    def token(self, index: int) -> int:
        return self.first + index

    def tokens(self, start: int, stop: int) -> Sequence[int]:
        return range(self.first + start, self.first + stop)


def request_of(recorded: dict[str, Any]) -> Request:
    lora_name, lora_id, lora_path = recorded.get("lora", (None, None, None))
    said = Speech(int(recorded["output_tokens"].split()[0]))
    return Request(
        recorded["id"],
        recorded["prompt_token_ids"],
        recorded["max_tokens"],
        said,
        0.0,
        cache_salt=recorded.get("cache_salt"),
        lora_name=lora_name,
        lora_path=lora_path,
        report_cached_blocks=recorded.get("extra_args", {}).get("kv_cache_report_mode") == "full",
        owner=Labels(lora_id, recorded.get("session_id")),
    )


def labels(request: Request) -> Labels:
    owner = request.owner
    assert isinstance(owner, Labels)
    return owner


def pinned_time() -> Iterator[float]:
    number = 0
    while True:
        yield 1_700_000_000 + 0.25 * number
        number += 1


def run(engine: Engine, request: Request) -> None:
    core = EngineCore(engine)
    engine.add(request, 0.0)
    while core.has_work:
        if core.begin(0.0) is not None:
            core.complete(0.0)


def rules_of(recorded: dict[str, Any]) -> SchedulerRules:
    release: str = recorded["version"]
    return load_profile(release.rpartition(".")[0]).scheduler


def engine_of(recorded: dict[str, Any], listener: EngineListener, async_scheduling: bool = True) -> Engine:
    """An engine as the recording's, with its blocks, hashes and rules."""
    config, rules = recorded["config"], rules_of(recorded)
    scheduler = SchedulerConfig(
        num_gpu_blocks=config["num_gpu_blocks"],
        block_size=config["block_size"],
        max_model_len=160,
        async_scheduling=async_scheduling,
    )
    hasher = block_hasher(config["prefix_caching_hash_algo"], rules, {})
    return Engine(scheduler, Linear(0.01), hash_block=hasher, listeners=[listener], rules=rules)


def play(recorded: dict[str, Any], engine: Engine) -> None:
    """Run the recorded requests one after the other; before the last one the prefix cache was reset."""
    for request in recorded["requests"]:
        if request["id"] == "Z":
            assert engine.reset_prefix_cache(False, 0.0)
        run(engine, request_of(request))
