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

    def __init__(
        self, model_name: str, cache_config: dict[str, str], engine: int = 0, *, fetches_kv: bool = False
    ) -> None:
        self._shown = [metric for metric in METRICS if fetches_kv or not metric.only_consumers]
        self._labels = {"model_name": model_name, "engine": str(engine)}
        self._cache_config = cache_config
        self.values = {metric.name: Value(metric) for metric in METRICS if metric.kind in ("counter", "gauge")}
        self.buckets = {metric.name: Buckets(metric) for metric in METRICS if metric.kind == "histogram"}
        self.exposition = Exposition(self.families)
        self._generated = self.values["generation_tokens"]
        self._observe_itl: Callable[[float], None] = self.buckets["inter_token_latency_seconds"].observe
        self._engine: Engine | None = None
        self._caches = False
        self._connected = False

    def watch(self, engine: Engine) -> None:
        """The engine whose state the gauges show."""
        self._engine = engine
        self._caches = engine.config.enable_prefix_caching
        self._connected = engine.kv_connector is not None

    def scheduled(self, request: Request, num_hit_tokens: int, now: float) -> None:
        """The prefix cache is asked once a request: when it first gets its seat."""
        if self._caches and not (request.num_preemptions or request.skip_reading_prefix_cache):
            self.values["prefix_cache_queries"].total += request.num_tokens
            self.values["prefix_cache_hits"].total += num_hit_tokens

        if self._connected and not request.num_preemptions:
            self.values["external_prefix_cache_queries"].total += request.num_tokens - num_hit_tokens
            self.values["external_prefix_cache_hits"].total += request.num_external_computed_tokens

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
        for metric in self._shown:
            if metric.kind == "info":
                labels = self._cache_config | {"engine": self._labels["engine"]}
                info = GaugeMetricFamily(f"vllm:{metric.name}", metric.help, labels=[*labels])
                info.add_metric([*labels.values()], 1.0)
                yield info
            else:
                yield (self.values | self.buckets)[metric.name].family(self._labels)

    def _read_gauges(self) -> None:
        engine = self._engine
        if engine is None:
            return
        waiting, deferred = engine.num_waiting, engine.num_deferred
        self.values["num_requests_running"].total = engine.num_running
        self.values["num_requests_waiting"].total = waiting
        self.values["num_requests_waiting_by_reason"].by = {"capacity": waiting - deferred, "deferred": deferred}
        self.values["kv_cache_usage_perc"].total = engine.kv_cache.usage
        if engine.kv_connector is not None:
            loading = engine.num_loading
            self.values["num_requests_kv_fetch_by_stage"].by = {
                "waiting_to_start": engine.kv_connector.num_fetches - loading,
                "in_progress": loading,
                "completed_waiting": deferred - loading,
            }

    def _first_output(self, request: Request, now: float) -> None:
        cached, external = request.num_cached_tokens, request.num_external_computed_tokens
        by_source = self.values["prompt_tokens_by_source"].by
        by_source["local_compute"] += request.num_prompt_tokens - cached
        by_source["local_cache_hit"] += cached - external
        by_source["external_kv_transfer"] += external
        self.values["prompt_tokens_cached"].total += cached
        self.values["prompt_tokens"].total += request.num_prompt_tokens
        self.buckets["time_to_first_token_seconds"].observe(now - request.arrival_time)
