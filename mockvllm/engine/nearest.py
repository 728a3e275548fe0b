"""The nearest of many points: a k-d tree."""

import heapq
from collections.abc import Sequence

Position = tuple[float, ...]


class Nearest:
    """`items`: positions with a value each; at least one."""

    def __init__(self, items: Sequence[tuple[Position, float]], count: int = 8) -> None:
        self._root = _build(list(items), 0)
        self._count = min(count, len(items))

    def find(self, position: Position) -> list[tuple[float, float]]:
        """(squared distance, value) of the nearest points, the nearest first."""
        best: list[tuple[float, float]] = []  # a heap of the negated distances: the farthest is on top
        self._search(self._root, position, 0, best)
        return sorted((-negated, value) for negated, value in best)

    def _search(self, node: "_Node | None", position: Position, axis: int, best: list[tuple[float, float]]) -> None:
        if node is None:
            return
        distance = sum((a - b) ** 2 for a, b in zip(node.position, position, strict=True))
        if len(best) < self._count:
            heapq.heappush(best, (-distance, node.value))
        elif distance < -best[0][0]:
            heapq.heapreplace(best, (-distance, node.value))
        offset = position[axis] - node.position[axis]
        near, far = (node.low, node.high) if offset < 0 else (node.high, node.low)
        following = (axis + 1) % len(position)
        self._search(near, position, following, best)
        if len(best) < self._count or offset**2 < -best[0][0]:
            self._search(far, position, following, best)


class _Node:
    __slots__ = ("high", "low", "position", "value")

    def __init__(self, position: Position, value: float, low: "_Node | None", high: "_Node | None") -> None:
        self.position = position
        self.value = value
        self.low = low
        self.high = high


def _build(items: list[tuple[Position, float]], axis: int) -> _Node | None:
    if not items:
        return None
    items.sort(key=lambda item: item[0][axis])
    middle = len(items) // 2
    position, value = items[middle]
    following = (axis + 1) % len(position)
    return _Node(position, value, _build(items[:middle], following), _build(items[middle + 1 :], following))
