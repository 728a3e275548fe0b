"""vLLM's NixlConnector as its scheduler sees it (0.33): KV blocks kept for another engine, and those fetched from one.

Pure like the rest of the engine. Whoever drives it sets `alarms.ring`, to hear when `advance` has something to do, and
`notify`, by which another engine is told that its blocks were read, or that they are still wanted.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, Literal

import msgspec

from mockvllm.engine.alarms import Alarms
from mockvllm.engine.kv_leases import Leases
from mockvllm.engine.remote_blocks import RemoteBlocks
from mockvllm.engine.request import Request

Notice = Literal["read", "heartbeat"]
REGISTRATION_GENERATION = 1  # the memory is registered once, at the start
HEARTBEATS_A_LEASE = 6


class KVConnectorConfig(msgspec.Struct, frozen=True, kw_only=True):
    """`lease`: seconds that blocks are kept for whoever is to read them. A load takes `fetch_seconds_per_token`; fewer
    tokens than `recompute_threshold` are not fetched. `tells_cached_tokens`: it says of a prompt how much was cached
    where it was computed.
    """

    engine_id: str
    host: str = "localhost"
    port: int = 5600
    tp_size: int = 1
    dcp_size: int = 1
    pp_size: int = 1
    lease: float = 30.0
    load_failure_policy: Literal["fail", "recompute"] = "fail"
    recompute_threshold: int = 0
    fetch_seconds_per_token: float = 0.0
    tells_cached_tokens: bool = True


class KVConnector:
    """`make_id`: this engine's name for a request, under which others ask for its blocks. `load_fails`: whether that of
    this request is to, whatever else.
    """

    def __init__(
        self,
        config: KVConnectorConfig,
        make_id: Callable[[str], str] = str,
        load_fails: Callable[[str], bool] = lambda request_id: False,
    ) -> None:
        self.config = config
        self.alarms = Alarms()
        self.leases = Leases(config.lease, self.alarms)
        self.notify: Callable[[RemoteBlocks, Notice], None] = lambda source, notice: None
        self._make_id = make_id
        self._load_fails = load_fails
        self._fetches: dict[Request, RemoteBlocks | None] = {}
        self._num_readers: Counter[RemoteBlocks] = Counter()
        self._over: list[tuple[Request, bool]] = []
        self._beats = False

    def advance(self, now: float) -> list[tuple[Request, bool]]:
        """What was due by `now` happens. Returns the requests whose load is over, and whether it succeeded."""
        self.alarms.advance(now)
        over, self._over = self._over, []
        return over

    # --- the prefill side: blocks are kept

    def request_finished(self, request: Request) -> str | None:
        """Of a request that ended by itself, and whose prompt another engine wants: the name under which its blocks are
        to be kept. Sets what its answer says of them. None: nobody wants them."""
        params = request.kv_transfer_params
        if not (params and params.get("do_remote_decode")) or request.finish_reason not in ("stop", "length"):
            return None
        lease_id = self._make_id(request.request_id)
        request.finished_kv_transfer_params = self._params(request, lease_id)
        return lease_id

    def _params(self, request: Request, lease_id: str) -> dict[str, Any]:
        """vLLM's order of keys."""
        config = self.config
        params = {
            "do_remote_prefill": True,
            "do_remote_decode": False,
            "remote_block_ids": [list(request.block_ids)],
            "remote_engine_id": config.engine_id,
            "remote_request_id": lease_id,
            "remote_host": config.host,
            "remote_port": config.port,
            "tp_size": config.tp_size,
            "dcp_size": config.dcp_size,
            "pp_size": config.pp_size,
            "remote_num_tokens": request.num_computed_tokens,
            "remote_blocks_expiry_time": None,
            "remote_registration_generation": REGISTRATION_GENERATION,
            "transfer_mode": "pull",
        }
        return params | (
            {"remote_prefill_cached_tokens": request.num_cached_tokens} if config.tells_cached_tokens else {}
        )

    def hear(self, notice: Notice, lease_id: str, now: float) -> None:
        """What the engine says that blocks are kept for. Nothing happens if they are not."""
        if notice == "read":
            self.leases.end(lease_id)
        else:
            self.leases.renew(lease_id, now)

    # --- the decode side: blocks are fetched

    def on_new_request(self, request: Request, now: float) -> None:
        """From now on the engine that keeps its blocks hears that they are wanted."""
        params = request.kv_transfer_params
        if not (params and params.get("do_remote_prefill")):
            return
        source = self._fetches[request] = RemoteBlocks.of(params)
        if source is not None:
            self._num_readers[source] += 1
            self._start_heartbeats(now)
        cached = params.get("remote_prefill_cached_tokens")
        if self.config.tells_cached_tokens and isinstance(cached, int):
            request.remote_prefill_cached_tokens = min(max(cached, 0), request.num_prompt_tokens)

    def wants_blocks(self, request: Request) -> bool:
        """Whether KV of this request is elsewhere, and not fetched yet: that happens once."""
        return request in self._fetches

    @property
    def num_fetches(self) -> int:
        """Those to come, and those under way."""
        return len(self._fetches)

    def get_num_new_matched_tokens(self, request: Request, num_computed_tokens: int) -> int:
        """How many tokens of the prompt are to be fetched, beyond those computed here."""
        count = request.num_prompt_tokens - num_computed_tokens
        return 0 if count < self.config.recompute_threshold else count

    def start_load(self, request: Request, now: float) -> None:
        """`advance` will say when it is over."""
        seconds = request.num_external_computed_tokens * self.config.fetch_seconds_per_token
        self.alarms.at(now + seconds, lambda now: self._load_over(request, now))

    def forget(self, request: Request, now: float) -> None:
        """Its blocks were read, or are not wanted any more: the last one who wanted them says so."""
        source = self._fetches.pop(request, None)
        if source is None:
            return
        self._num_readers[source] -= 1
        if not self._num_readers[source]:
            del self._num_readers[source]
            self._tell(source, "read", now)

    def discard(self, params: Mapping[str, Any], now: float) -> None:
        """The front end refused a request that would have fetched blocks."""
        source = RemoteBlocks.of(params) if params.get("do_remote_prefill") else None
        if source is not None and source not in self._num_readers:
            self._tell(source, "read", now)

    def _load_over(self, request: Request, now: float) -> None:
        if request in self._fetches:  # not aborted meanwhile
            self._over.append((request, self._can_load(request)))
            self.forget(request, now)

    def _can_load(self, request: Request) -> bool:
        """Not if no blocks are named, or this engine is the one that kept them, and has let them go."""
        source = self._fetches[request]
        if source is None or (source.engine_id == self.config.engine_id and source.request_id not in self.leases):
            return False
        return not self._load_fails(request.request_id)

    def _start_heartbeats(self, now: float) -> None:
        if not self._beats:
            self._beats = True
            self.alarms.at(now + self.config.lease / HEARTBEATS_A_LEASE, self._beat)

    def _beat(self, now: float) -> None:
        self._beats = False
        for source in self._num_readers:
            if source.engine_id != self.config.engine_id:  # else who waits for these very blocks would keep them
                self.notify(source, "heartbeat")
        if self._num_readers:
            self._start_heartbeats(now)

    def _tell(self, source: RemoteBlocks, notice: Notice, now: float) -> None:
        if source.engine_id == self.config.engine_id:
            self.hear(notice, source.request_id, now)
        else:
            self.notify(source, notice)
