"""One run of `vllm bench serve --save-result` (0.33.0) as JSON: its keys, their order, and the file's name."""

import time
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any

from mockvllm_client.load import Reply

KEPT = ("latencies", "queue_times")  # of what there is by request; the rest goes without --save-detailed


def head(
    *, backend: str, label: str | None, model_id: str, tokenizer_id: str, num_prompts: int, load: Mapping[str, Any]
) -> dict[str, Any]:
    """What was run. `load`: `request_rate` (`"inf"`, if it is), `burstiness`, `max_concurrency`."""
    return {
        "date": time.strftime("%Y%m%d-%H%M%S"),
        "endpoint_type": backend,
        "backend": backend,
        "label": label,
        "model_id": model_id,
        "tokenizer_id": tokenizer_id,
        "num_prompts": num_prompts,
        **load,
    }


def by_request(replies: Sequence[Reply]) -> dict[str, list[Any]]:
    """A list for each property; times in seconds."""
    records = [reply.record for reply in replies]
    return {
        "input_lens": [record.prompt_tokens for record in records],
        "output_lens": [record.output_tokens for record in records],
        "ttfts": [record.ttft for record in records],
        "itls": [list(record.itl) for record in records],
        "latencies": [record.latency for record in records],
        "start_times": [record.start for record in records],
        "queue_times": [record.queue_time for record in records],
        "generated_texts": [reply.text for reply in replies],
        "errors": [reply.error for reply in replies],
    }


def kept(lists: Mapping[str, list[Any]], detailed: bool) -> dict[str, list[Any]]:
    return {name: values for name, values in lists.items() if detailed or name in KEPT}


def file_name(result: Mapping[str, Any]) -> str:
    """`openai-infqps-concurrency8-MODEL-DATE.json`."""
    limit = result["max_concurrency"]
    concurrency = f"-concurrency{limit}" if limit else ""
    model = PurePath(result["model_id"]).name
    name = result["label"] or result["endpoint_type"]
    return f"{name}-{float(result['request_rate'])}qps{concurrency}-{model}-{result['date']}.json"
