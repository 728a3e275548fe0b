"""`--kv-transfer-config`: vLLM's `KVTransferConfig` (0.33), and what of it a mock acts on."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

import msgspec

FLAG = "--kv-transfer-config"
CONNECTOR = "NixlConnector"
ROLES = ("kv_producer", "kv_both", "kv_consumer")
Seconds = Annotated[float, msgspec.Meta(gt=0)]
Tokens = Annotated[int, msgspec.Meta(ge=0)]


class ExtraConfig(msgspec.Struct, kw_only=True, frozen=True):
    """`kv_connector_extra_config`: of its many keys those that are modelled. `kv_lease_duration`: seconds that blocks
    are kept for a decode server. `kv_recompute_threshold`: prompt tokens below which fetching is not worth it.
    """

    kv_lease_duration: Seconds = 30.0
    kv_recompute_threshold: Tokens = 0


class KVTransferConfig(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """vLLM's keys and defaults. Only `NixlConnector` does anything."""

    kv_connector: str | None = None
    engine_id: str | None = None
    kv_buffer_device: str | None = "cuda"
    kv_buffer_size: float = 1e9
    kv_role: str | None = None
    kv_rank: int | None = None
    kv_parallel_size: int = 1
    kv_ip: str = "127.0.0.1"
    kv_port: int = 14579
    kv_connector_extra_config: ExtraConfig = ExtraConfig()
    kv_connector_module_path: str | None = None
    enable_permute_local_kv: bool = False
    kv_load_failure_policy: Literal["fail", "recompute"] = "fail"

    @property
    def active(self) -> bool:
        """Whether KV is transferred."""
        return self.kv_connector == CONNECTOR

    @property
    def is_kv_producer(self) -> bool:
        return self.kv_role in ("kv_producer", "kv_both")

    @property
    def is_kv_consumer(self) -> bool:
        return self.kv_role in ("kv_consumer", "kv_both")


def parse(value: Mapping[str, Any] | None) -> KVTransferConfig:
    """The flag's value. Raises ValueError: one line with flag, key and reason."""
    try:
        config = msgspec.convert(value or {}, KVTransferConfig)
    except msgspec.ValidationError as error:
        raise ValueError(f"{FLAG}: {error} (in {value!r})") from error
    if config.kv_role is not None and config.kv_role not in ROLES:
        raise ValueError(f"{FLAG}: Unsupported kv_role: {config.kv_role}. Supported roles are {ROLES}")
    if config.kv_connector is not None and config.kv_role is None:
        raise ValueError(
            f"{FLAG}: Please specify kv_role when kv_connector is set, supported roles are {ROLES} (in {value!r})"
        )
    return config


def problems(value: Mapping[str, Any] | None) -> Iterator[str]:
    """Why the flag's value cannot be."""
    try:
        parse(value)
    except ValueError as error:
        yield str(error)
