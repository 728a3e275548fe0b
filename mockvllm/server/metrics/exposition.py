"""From accumulators to Prometheus text."""

from collections.abc import Callable, Iterable, Iterator

from prometheus_client import GC_COLLECTOR, PLATFORM_COLLECTOR, PROCESS_COLLECTOR, CollectorRegistry, generate_latest
from prometheus_client.core import Metric as Family
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.registry import Collector


class Exposition(Collector):
    """python_* and process_* first, then ours in the order of their declarations, as vLLM's own exposition."""

    def __init__(self, families: Callable[[], Iterable[Family]]) -> None:
        self._families = families
        self.registry = CollectorRegistry(auto_describe=False)
        for collector in (GC_COLLECTOR, PLATFORM_COLLECTOR, PROCESS_COLLECTOR, self):
            self.registry.register(collector)

    def collect(self) -> Iterator[Family]:
        yield from self._families()

    def describe(self) -> Iterator[Family]:
        return iter(())

    def __call__(self) -> tuple[str, bytes]:
        """(content type, text)."""
        return CONTENT_TYPE_LATEST, generate_latest(self.registry)
