"""The recordings of the real vLLM, and what of them is compared."""

import json
import lzma
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from mockvllm.conformance.compare import Comparison, Difference
from mockvllm.conformance.recordings import Answer, Headers

DATA = Path(__file__).parent.parent / "data" / "wire"
Case = dict[str, Any]


@cache
def recordings(version: str) -> list[Case]:
    with lzma.open(DATA / f"{version}.jsonl.xz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) | {"version": version} for line in lines]


def difference(case: Case, status: int, headers: Iterable[tuple[str, str]], body: str) -> Difference | None:
    """Of an answer from this process, where every token has its event, to the recorded one."""
    recorded = case["response"]
    wanted = Answer(recorded["status"], _of_application(map(tuple, recorded["headers"])), recorded["body_text"])
    by_shape = case.get("script_refused_by_grammar", False)
    comparison = Comparison(case["version"], case["version"], by_shape=by_shape, exact_events=True)
    return comparison.difference(wanted, Answer(status, _of_application(headers), body))


def _of_application(headers: Iterable[Any]) -> Headers:
    return tuple((name, value) for name, value in headers if name.lower() != "server")  # that is uvicorn's


GROUPS = (
    "chat_basic",
    "chat_stream",
    "chat_stop",
    "chat_params",
    "chat_body",
    "chat_messages",
    "chat_logprobs",
    "chat_extra",
    "context",
    "flags",
    "interval",
    "reasoning_qwen3",
    "reasoning_r1",
    "structured",
    "tools_hermes",
    "tools_llama3",
    "tools_no_parser",
)


def is_chat(case: Case) -> bool:
    path = case["request"]["path"].partition("?")[0]
    return case["group"] in GROUPS and path == "/v1/chat/completions" and case["request"]["method"] == "POST"


def chat_cases() -> list[Case]:
    return [case for version in ("0.33.0", "0.32.0", "0.30.0") for case in recordings(version) if is_chat(case)]


def name(case: Case) -> str:
    return f"{case['version']}-{case['group']}-{case['case']}"
