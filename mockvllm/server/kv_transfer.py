"""The KV connector of a server: from its settings to the engine's connector, and its line to other servers."""

import json
import random
import uuid
from asyncio import AbstractEventLoop
from collections.abc import Mapping

from mockvllm.clock.driver import Driver
from mockvllm.engine import KVConnector, KVConnectorConfig
from mockvllm.profiles.scheduler import SchedulerRules
from mockvllm.server.side_channel import SideChannel
from mockvllm.settings import Environment, Settings
from mockvllm.settings.kv_transfer import KVTransferConfig, parse


def make_connector(settings: Settings, environment: Environment, rules: SchedulerRules) -> KVConnector | None:
    """None if nothing is transferred."""
    config = parse(settings.kv_transfer_config)
    if not config.active:
        return None

    def make_id(request_id: str) -> str:
        randomized = not environment.VLLM_DISABLE_REQUEST_ID_RANDOMIZATION
        return f"{request_id}-{random.getrandbits(32):08x}" if randomized else request_id

    def load_fails(request_id: str) -> bool:
        return random.Random(f"{settings.seed}/{request_id}").random() < settings.kv_load_failure_rate

    return KVConnector(connector_config(config, settings, environment, rules), make_id, load_fails)


def connector_config(
    config: KVTransferConfig, settings: Settings, environment: Environment, rules: SchedulerRules
) -> KVConnectorConfig:
    """As a data-parallel rank has it: its own engine id and port."""
    rank, extra = settings.data_parallel_rank or 0, config.kv_connector_extra_config
    engine_id = config.engine_id or str(uuid.uuid4())
    return KVConnectorConfig(
        engine_id=f"{engine_id}_dp{rank}" if settings.data_parallel_size > 1 else engine_id,
        host=environment.VLLM_NIXL_SIDE_CHANNEL_HOST,
        port=environment.VLLM_NIXL_SIDE_CHANNEL_PORT + rank,
        tp_size=max(settings.tensor_parallel_size, settings.decode_context_parallel_size),
        dcp_size=settings.decode_context_parallel_size,
        pp_size=settings.pipeline_parallel_size,
        lease=extra.kv_lease_duration,
        load_failure_policy=config.kv_load_failure_policy,
        recompute_threshold=extra.kv_recompute_threshold,
        fetch_seconds_per_token=settings.kv_fetch_ms_per_token / 1000,
        tells_cached_tokens=rules.remote_prefill_cached_tokens,
    )


class KVTransfer:
    """What the routes need of it."""

    def __init__(self, connector: KVConnector, driver: Driver, loop: AbstractEventLoop) -> None:
        self._driver = driver
        self._channel = SideChannel(connector.config.engine_id, driver.hear, loop)
        connector.notify = self._channel.tell

    def listen(self, config: KVConnectorConfig) -> None:
        self._channel.listen(config.host, config.port)

    def discard(self, body: bytes) -> None:
        """A request was refused: nobody will fetch the blocks that are kept for it."""
        if b"do_remote_prefill" not in body:
            return
        try:
            fields = json.loads(body)
        except ValueError:
            return
        params = fields.get("kv_transfer_params") if isinstance(fields, Mapping) else None
        if isinstance(params, Mapping):
            self._driver.discard_remote_blocks(params)

    def close(self) -> None:
        self._channel.close()
