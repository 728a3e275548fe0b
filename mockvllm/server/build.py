"""From settings to a backend: which engine, which clock, who listens."""

import asyncio
import os
from collections.abc import Mapping

from mockvllm import profiles
from mockvllm.clock import Clock, LiveClock, ManualClock
from mockvllm.clock.driver import Driver
from mockvllm.engine import Engine, EngineCore, HashBlock, KVConnector, hash_block
from mockvllm.profiles import Profile
from mockvllm.server import kv_events, kv_events_config
from mockvllm.server.backend import Backend, deliver, fail
from mockvllm.server.chat import ChatServing
from mockvllm.server.journal import Journal
from mockvllm.server.kv_events import KVEvents
from mockvllm.server.kv_transfer import KVTransfer, make_connector
from mockvllm.server.messages import MessagesServing
from mockvllm.server.metrics import Metrics
from mockvllm.server.metrics.cache_config import cache_config_labels
from mockvllm.server.responses import ResponsesServing
from mockvllm.server.responses_store import ResponsesStore
from mockvllm.server.serving_config import serving_config
from mockvllm.settings import Environment, Settings, SettingsError
from mockvllm.settings.derive import BLOCK_SIZE, derive
from mockvllm.settings.engine import num_gpu_blocks, scheduler_config
from mockvllm.settings.kv_room import check_kv_room
from mockvllm.settings.kv_transfer import parse
from mockvllm.settings.model_limit import model_limit
from mockvllm.settings.step_time import make_step_time


def make_clock(settings: Settings, loop: asyncio.AbstractEventLoop) -> Clock:
    return ManualClock(loop) if settings.clock == "manual" else LiveClock(loop, settings.time_scale)


def start_kv_events(
    settings: Settings, profile: Profile, environ: Mapping[str, str]
) -> tuple[KVEvents | None, HashBlock]:
    """The publisher that `--kv-events-config` asks for, its sockets open, and how blocks are hashed: as in vLLM where
    somebody sees the hashes, quickly where nobody does. SettingsError when that cannot be.
    """
    rules = profile.scheduler
    try:
        config = kv_events_config.parse(settings.kv_events_config)
        if not config.active:
            return None, hash_block
        hasher = kv_events.block_hasher(settings.prefix_caching_hash_algo, rules, environ)
        return kv_events.start(config, settings.data_parallel_rank or 0, rules, environ), hasher
    except ValueError as error:
        raise SettingsError(str(error)) from None


def start_kv_transfer(
    settings: Settings, connector: KVConnector | None, driver: Driver, loop: asyncio.AbstractEventLoop
) -> KVTransfer | None:
    """The line to other servers; a server that computes for them listens."""
    if connector is None:
        return None
    transfer = KVTransfer(connector, driver, loop)
    if parse(settings.kv_transfer_config).is_kv_producer:
        transfer.listen(connector.config)
    return transfer


def build_backend(
    settings: Settings,
    environment: Environment,
    loop: asyncio.AbstractEventLoop,
    environ: Mapping[str, str] = os.environ,
) -> Backend:
    """Everything behind the routes. SettingsError when the longest request does not fit the KV cache, among others."""
    profile = profiles.load(settings.profile)
    blocks = num_gpu_blocks(settings, settings.block_size or BLOCK_SIZE)
    derived = derive(settings, num_gpu_blocks=blocks, model_limit=model_limit(settings))
    check_kv_room(derived, blocks)
    config = scheduler_config(settings, derived, blocks)
    serving = serving_config(settings, derived, profile, environment)
    store = ResponsesStore(environment.VLLM_ENABLE_RESPONSES_API_STORE)
    journal = Journal(settings.journal_size, derived.block_size)
    labels = cache_config_labels(settings, config, derived.gpu_memory_utilization)
    connector = make_connector(settings, environment, profile.scheduler)
    fetches_kv = connector is not None and parse(settings.kv_transfer_config).is_kv_consumer
    metrics = Metrics(settings.model_names[0], labels, fetches_kv=fetches_kv)
    events, hasher = start_kv_events(settings, profile, environ)
    engine = Engine(
        config,
        make_step_time(settings),
        hash_block=hasher,
        listeners=[listener for listener in (journal, metrics, events) if listener is not None],
        rules=profile.scheduler,
        max_tokens_per_result=settings.events_per_write,
        kv_connector=connector,
    )
    journal.watch(engine)
    metrics.watch(engine)
    clock = make_clock(settings, loop)
    driver = Driver(EngineCore(engine), clock, deliver, fail)
    return Backend(
        settings=settings,
        environment=environment,
        derived=derived,
        profile=profile,
        clock=clock,
        driver=driver,
        journal=journal,
        metrics=metrics,
        chat=ChatServing(serving),
        messages=MessagesServing(serving, profile.messages),
        responses=ResponsesServing(serving, profile.responses, store),
        kv_events={settings.data_parallel_rank or 0: events} if events else {},
        kv_transfer=start_kv_transfer(settings, connector, driver, loop),
    )
