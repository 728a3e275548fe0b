"""The engine's events become numbers."""

from collections.abc import Callable, Iterator, Sequence

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.core import Metric as Family

from mockvllm.engine import Engine, EngineListener, Request, RequestOutput
from mockvllm.server.metrics.declarations import METRICS
from mockvllm.server.metrics.exposition import Exposition
from mockvllm.server.metrics.values import Buckets, Value


class Metrics(EngineListener):
    """Counts what vLLM's front end counts, when it does (0.33).

    A request's first output brings its prompt, each output its tokens; a client that left counts as nothing. Gauges are
    read off the engine when somebody scrapes.
    """

    def __init__(self, model_name: str, cache_config: dict[str, str], engine: int = 0) -> None:
        self._labels = {"model_name": model_name, "engine": str(engine)}
        self._cache_config = cache_config
        self.values = {metric.name: Value(metric) for metric in METRICS if metric.kind in ("counter", "gauge")}
        self.buckets = {metric.name: Buckets(metric) for metric in METRICS if metric.kind == "histogram"}
        self.exposition = Exposition(self.families)
        self._generated = self.values["generation_tokens"]
        self._observe_itl: Callable[[float], None] = self.buckets["inter_token_latency_seconds"].observe
        self._engine: Engine | None = None
        self._caches = False

    def watch(self, engine: Engine) -> None:
        """The engine whose state the gauges show."""
        self._engine = engine
        self._caches = engine.config.enable_prefix_caching

    def scheduled(self, request: Request, num_hit_tokens: int, now: float) -> None:
        """The prefix cache is asked once a request: when it first gets its seat."""
        if self._caches and not (request.num_preemptions or request.skip_reading_prefix_cache):
            self.values["prefix_cache_queries"].total += request.num_tokens
            self.values["prefix_cache_hits"].total += num_hit_tokens

    def tokens(self, results: Sequence[RequestOutput], now: float) -> None:
        num_tokens = 0
        for result in results:
            num_tokens += result.num_new_tokens
            if result.previous_token_at is None:
                self._first_output(result.request, now)
            else:
                self._observe_itl(now - result.previous_token_at)
        self._generated.total += num_tokens

    def preempted(self, request: Request, num_computed_tokens: int, num_blocks: int, now: float) -> None:
        self.values["num_preemptions"].total += 1

    def finished(self, request: Request, num_blocks: int, now: float) -> None:
        if request.finish_reason != "abort":
            self.values["request_success"].by[request.finish_reason or "error"] += 1
            self.buckets["e2e_request_latency_seconds"].observe(now - request.arrival_time)

    def families(self) -> Iterator[Family]:
        self._read_gauges()
        for metric in METRICS:
            if metric.kind == "info":
                labels = self._cache_config | {"engine": self._labels["engine"]}
                info = GaugeMetricFamily(f"vllm:{metric.name}", metric.help, labels=[*labels])
                info.add_metric([*labels.values()], 1.0)
                yield info
            else:
                yield (self.values | self.buckets)[metric.name].family(self._labels)

    def _read_gauges(self) -> None:
        if self._engine is not None:
            self.values["num_requests_running"].total = self._engine.num_running
            self.values["num_requests_waiting"].total = self._engine.num_waiting
            self.values["kv_cache_usage_perc"].total = self._engine.kv_cache.usage

    def _first_output(self, request: Request, now: float) -> None:
        self.values["prompt_tokens"].total += request.num_prompt_tokens
        self.buckets["time_to_first_token_seconds"].observe(now - request.arrival_time)
