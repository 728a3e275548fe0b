"""`kv_transfer_params` as a request brings them: where the KV of its prompt is."""

from collections.abc import Mapping
from typing import Any, NamedTuple


class RemoteBlocks(NamedTuple):
    """Blocks that an engine keeps: which engine, for which of its requests, and where it listens."""

    engine_id: str
    request_id: str
    host: str
    port: int

    @classmethod
    def of(cls, params: Mapping[str, Any]) -> "RemoteBlocks | None":
        """As `params` name them; None if something is missing, or no block is named."""
        engine_id, request_id = params.get("remote_engine_id"), params.get("remote_request_id")
        host, port = params.get("remote_host"), params.get("remote_port")
        if not (isinstance(engine_id, str) and isinstance(request_id, str) and isinstance(host, str)):
            return None
        if not isinstance(port, int) or not _are_blocks(params.get("remote_block_ids")):
            return None
        return cls(engine_id, request_id, host, port)


def _are_blocks(groups: Any) -> bool:
    """A list of block ids for each KV group, not all of them empty."""
    if not isinstance(groups, list) or not all(isinstance(group, list) for group in groups):
        return False
    ids = [block for group in groups for block in group]
    return bool(ids) and all(isinstance(block, int) and block >= 0 for block in ids)
