"""KV blocks that an engine keeps for others: read within a lease, or free again."""

from mockvllm.engine.alarms import Alarms
from mockvllm.engine.block_pool import BlockPool


class _Lease:
    __slots__ = ("block_ids", "expires_at")

    def __init__(self, block_ids: list[int], expires_at: float) -> None:
        self.block_ids = block_ids
        self.expires_at = expires_at


class Leases:
    """`seconds`: how long blocks wait for their reader. A sign of life from it adds two thirds of that (vLLM)."""

    def __init__(self, seconds: float, alarms: Alarms) -> None:
        self.pool: BlockPool
        self._seconds = seconds
        self._alarms = alarms
        self._leases: dict[str, _Lease] = {}

    def __contains__(self, lease_id: str) -> bool:
        return lease_id in self._leases

    def __len__(self) -> int:
        return len(self._leases)

    @property
    def block_ids(self) -> list[int]:
        """All that are held; one that several leases hold as often as that."""
        return [block for lease in self._leases.values() for block in lease.block_ids]

    def hold(self, lease_id: str, block_ids: list[int], now: float) -> None:
        self.end(lease_id)  # an id that is used again
        self._leases[lease_id] = lease = _Lease(block_ids, now + self._seconds)
        self._watch(lease_id, lease)

    def renew(self, lease_id: str, now: float) -> None:
        lease = self._leases.get(lease_id)
        if lease is not None:
            lease.expires_at = max(lease.expires_at, now + self._seconds * 2 / 3)

    def end(self, lease_id: str) -> None:
        """The blocks go back to the pool. Nothing happens to a lease that is over."""
        lease = self._leases.pop(lease_id, None)
        if lease is not None:
            self.pool.free_blocks(lease.block_ids)

    def _watch(self, lease_id: str, lease: _Lease) -> None:
        def look(now: float) -> None:
            if self._leases.get(lease_id) is not lease:
                return
            if lease.expires_at > now:
                self._watch(lease_id, lease)
            else:
                self.end(lease_id)

        self._alarms.at(lease.expires_at, look)
