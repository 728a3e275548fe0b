"""`Settings`: every knob of `mockvllm serve`, as one typed record."""

from collections.abc import Iterator, Mapping
from dataclasses import Field, dataclass, field, fields
from typing import Any

from mockvllm.settings.cache import CacheConfig, VllmConfig
from mockvllm.settings.frontend import Frontend, Options
from mockvllm.settings.mock import Mock
from mockvllm.settings.model import LoRAConfig, ModelConfig, MultiModalConfig, StructuredOutputsConfig
from mockvllm.settings.parallel import ParallelConfig
from mockvllm.settings.scheduler import LoggingConfig, ObservabilityConfig, SchedulerConfig

DEFAULT_MODEL = "/models/chat-70b-fp8-2026-09-28"


@dataclass(frozen=True, slots=True, repr=False, match_args=False)
class Settings(
    Mock,
    Options,
    Frontend,
    ModelConfig,
    StructuredOutputsConfig,
    ParallelConfig,
    CacheConfig,
    MultiModalConfig,
    LoRAConfig,
    LoggingConfig,
    ObservabilityConfig,
    SchedulerConfig,
    VllmConfig,
):
    """What a server was told. `None` is vLLM's "unset"; what follows from that is in `derive`."""

    model_tag: str | None = None
    ignored: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def model(self) -> str:
        """The MODEL argument, or the default model; it is the `root` of the model card."""
        return self.model_tag or DEFAULT_MODEL

    @property
    def model_names(self) -> tuple[str, ...]:
        """The names the model answers to: those given, or MODEL as given, or the last component of the default."""
        return self.served_model_name or (self.model_tag or DEFAULT_MODEL.rpartition("/")[2],)


GROUPS = Settings.__bases__


def knobs(group: type) -> Iterator[Field[Any]]:
    """The fields a group declares, in order."""
    return (declared for declared in fields(group) if "knob" in declared.metadata)
