"""The journal's entries as JSON. Times are seconds since the request was accepted."""

from typing import Any

from mockvllm.server.journal import SECRETS, Entry


def summary(entry: Entry) -> dict[str, Any]:
    """What a list shows."""
    records = entry.records()
    return {
        "id": entry.id,
        "request_id": entry.request_id.decode("latin-1") if entry.request_id else None,
        "path": entry.path,
        "model": entry.model,
        "stream": entry.stream,
        "status": entry.status,
        "state": entry.state,
        "finish_reason": records[0].finish_reason if records else None,
        "accepted_at": entry.accepted_at,
        "prompt_tokens": records[0].num_prompt_tokens if records else None,
        "cached_tokens": records[0].num_cached_tokens if records else None,
        "completion_tokens": sum(record.num_output_tokens for record in records),
        "tokens_written": entry.tokens_written,
        "preemptions": sum(record.num_preemptions for record in records),
    }


def whole(entry: Entry, block_size: int, time_scale: float | None) -> dict[str, Any]:
    """Everything there is of one request. `time_scale`: the clock's seconds in a real one, None if moved by hand."""
    return summary(entry) | {
        "time_scale": time_scale,
        "blocks": {
            "held": sum(record.num_blocks for record in entry.records()),
            "block_size": block_size,
            "free_after": entry.free_blocks_after,
        },
        "timeline": timeline(entry),
        "events": [
            {"t": _since(entry, at), "tokens": num_tokens, "bytes": num_bytes}
            for at, num_tokens, num_bytes in entry.writes()
        ],
        "request": {
            "method": entry.method,
            "headers": [[name.decode("latin-1"), _shown(name, value)] for name, value in entry.headers],
            "body": entry.body.decode("utf-8", "replace"),
            "body_bytes": entry.num_body_bytes,
        },
        "script": entry.script,
    }


def timeline(entry: Entry) -> dict[str, Any]:
    """The request's way, of the first choice where there are several; the end is the last choice's."""
    records = entry.records()
    first = records[0] if records else None
    writes = [at for at, _, _ in entry.writes()]
    ends = [record.ended_at for record in records if record.ended_at is not None]
    ended = max(ends) if records and len(ends) == len(records) else None
    return {
        "accepted": 0.0,
        "queued": _since(entry, first.queued_at if first else None),
        "scheduled": _since(entry, first.scheduled_at if first else None),
        "first_token": _since(entry, first.first_token_at if first else None),
        "first_write": _since(entry, writes[0] if writes else None),
        "last_write": _since(entry, writes[-1] if writes else None),
        "finished": _since(entry, ended),
        "blocks_freed": _since(entry, ended),
        "client_closed": entry.closed and {"t": _since(entry, entry.closed[0]), "how": entry.closed[1]},
    }


def _since(entry: Entry, at: float | None) -> float | None:
    return None if at is None else round(at - entry.accepted, 6)


def _shown(name: bytes, value: bytes) -> str:
    return "***" if name in SECRETS else value.decode("latin-1")
