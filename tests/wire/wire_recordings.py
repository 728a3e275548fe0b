"""The recordings of the real vLLM, and what of them is compared."""

import collections
import json
import lzma
import re
from functools import cache
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent.parent / "data" / "wire"
Case = dict[str, Any]

_IDS = re.compile(
    r"(chatcmpl-tool-|chatcmpl-|cmpl-|modelperm-|resp_|msg_|rs_|fc_|call_|item_|generative-scoring-|generate-tokens-)"
    r"[0-9a-f]{8,40}"
)
_CREATED = re.compile(r'"(created|created_at|completed_at)":(\s?)\d+')
_FINGERPRINT = re.compile(r'"system_fingerprint":(\s?)"vllm-([\d.]+)-[0-9a-f]{8}"')
_METRICS = re.compile(r'("metrics":\s?)\{[^{}]*\}')
_CACHED = re.compile(r'"(cached_tokens|created_cache_tokens|cache_write_tokens)":(\s?)\d+')
_BARE_ID = re.compile(r'"(id|item_id)":"[0-9a-f]{16}"')
_SIGNATURE = re.compile(r'"signature":"[0-9a-f]{32}"')


@cache
def recordings(version: str) -> list[Case]:
    with lzma.open(DATA / f"{version}.jsonl.xz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) | {"version": version} for line in lines]


def normal(text: str) -> str:
    """What varies from run to run, replaced by a fixed word."""
    text = _BARE_ID.sub(r'"\1":"ID"', _IDS.sub(r"\1ID", text))
    text = _SIGNATURE.sub('"signature":"SIG"', text)
    text = _CREATED.sub(r'"\1":\g<2>0', text)
    text = _FINGERPRINT.sub(r'"system_fingerprint":\1"vllm-\2-HASH"', text)
    text = _METRICS.sub(r"\1{}", text)
    return _CACHED.sub(r'"\1":\g<2>N', text)


def by_choice(text: str) -> dict[int | None, list[str]]:
    """The events of a stream by the index of their choice (None: no choice), in order within each."""
    groups = collections.defaultdict(list)
    for event in filter(None, text.split("\n\n")):
        found = re.match(r'data: .*?"choices":\[\{"index":(\d+),', event)
        groups[int(found[1]) if found else None].append(event)
    return dict(groups)


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
