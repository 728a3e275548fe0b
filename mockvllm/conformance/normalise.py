"""What varies from run to run of one and the same server, replaced by a fixed word. Everything else is compared."""

import re
from collections.abc import Iterable

from mockvllm.conformance.recordings import Headers

NOT_COMPARED = frozenset(("connection", "content-length", "date", "keep-alive", "transfer-encoding"))
"""Headers of the connection, the time, and what follows from the body."""

_VARIES = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (
            r"(chatcmpl-tool-|chatcmpl-|cmpl-|modelperm-|resp_|msg_|rs_|fc_|call_|item_|generative-scoring-|generate-tokens-)"
            r"[0-9a-f]{8,40}",
            r"\1ID",
        ),
        (r'"(id|item_id)":(\s?)"[0-9a-f]{16}"', r'"\1":\2"ID"'),
        (r'"signature":(\s?)"[0-9a-f]{32}"', r'"signature":\1"SIGNATURE"'),
        (r'"(created|created_at|completed_at)":(\s?)\d+(\.\d+)?', r'"\1":\g<2>0'),
        (r'("metrics":\s?)\{[^{}]*\}', r"\1{}"),
        # depends on what the server answered before, and a replay has another order
        (r'"(cached_tokens|created_cache_tokens|cache_write_tokens)":(\s?)\d+', r'"\1":\g<2>N'),
    )
)


def normal(text: str, version: str) -> str:
    """A body without ids, times and hashes. A fingerprint has to name `version`, the one the server says it is."""
    for pattern, replacement in _VARIES:
        text = pattern.sub(replacement, text)
    fingerprint = rf'"system_fingerprint":(\s?)"vllm-{re.escape(version)}-[0-9a-f]{{8}}"'
    return re.sub(fingerprint, r'"system_fingerprint":\1"vllm-VERSION-HASH"', text)


def comparable(headers: Iterable[tuple[str, str]]) -> Headers:
    """Headers that the application chooses, names in lower case, in alphabetical order, without what varies."""
    lower = ((name.lower(), value) for name, value in headers)
    return tuple(sorted((name, _constant(name, value)) for name, value in lower if name not in NOT_COMPARED))


def _constant(name: str, value: str) -> str:
    if name == "location":
        return re.sub(r"^https?://[^/]+", "", value)
    return "ID" if name == "x-request-id" and re.fullmatch(r"[0-9a-f]{32}", value) else value
