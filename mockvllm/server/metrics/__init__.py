"""vLLM's metrics, fed by the engine's own events."""

from mockvllm.server.metrics.listener import Metrics

__all__ = ["Metrics"]
