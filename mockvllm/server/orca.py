"""Load reports in a response header, for balancers that speak ORCA (vLLM 0.30-0.33; whole answers only)."""

import json

from mockvllm.engine import Engine
from mockvllm.server.asgi import Headers

ASKED = b"endpoint-load-metrics-format"
GIVEN = b"endpoint-load-metrics"


def load_report(asked: bytes | None, engine: Engine) -> Headers:
    """The header in the format that is `asked` for (TEXT or JSON, in any case); none for any other."""
    if asked is None:
        return []
    metrics = {"num_requests_waiting": float(engine.num_waiting), "kv_cache_usage_perc": float(engine.kv_cache.usage)}
    match asked.lower():
        case b"text":
            report = "TEXT " + ", ".join(f"named_metrics.{name}={value}" for name, value in metrics.items())
        case b"json":
            report = "JSON " + json.dumps({"named_metrics": metrics})
        case _:
            return []
    return [(GIVEN, report.encode())]
