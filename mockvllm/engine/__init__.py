"""vLLM V1's engine without the model: scheduler, KV blocks, step time. Pure: time is an argument."""

from mockvllm.engine.config import SchedulerConfig
from mockvllm.engine.core import EngineCore
from mockvllm.engine.engine import Engine
from mockvllm.engine.hashing import HashBlock, hash_block
from mockvllm.engine.kv_connector import KVConnector, KVConnectorConfig, Notice
from mockvllm.engine.kv_events import AllBlocksCleared, BlockRemoved, BlockStored, ExtraKeys, KVEvent
from mockvllm.engine.listener import EngineListener
from mockvllm.engine.output import RequestOutput, SchedulerOutput, SchedulerStats
from mockvllm.engine.remote_blocks import RemoteBlocks
from mockvllm.engine.request import (
    BlockHash,
    FinishReason,
    Pacing,
    RepetitionDetection,
    Request,
    RequestStatus,
    TokenSource,
)
from mockvllm.engine.scheduler import PauseState
from mockvllm.engine.step_time import Fixed, Linear, StepTime

__all__ = [
    "AllBlocksCleared",
    "BlockHash",
    "BlockRemoved",
    "BlockStored",
    "Engine",
    "EngineCore",
    "EngineListener",
    "ExtraKeys",
    "FinishReason",
    "Fixed",
    "HashBlock",
    "KVConnector",
    "KVConnectorConfig",
    "KVEvent",
    "Linear",
    "Notice",
    "Pacing",
    "PauseState",
    "RemoteBlocks",
    "RepetitionDetection",
    "Request",
    "RequestOutput",
    "RequestStatus",
    "SchedulerConfig",
    "SchedulerOutput",
    "SchedulerStats",
    "StepTime",
    "TokenSource",
    "hash_block",
]
