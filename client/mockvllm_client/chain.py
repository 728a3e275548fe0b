"""The chain of a request on one clock: the links of the server, from its journal, and the events of the client between
them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil
from statistics import median

from mockvllm_client.journal import Entry
from mockvllm_client.transcript import Arrival, Transcript

_HEAD = 2  # events shown before "one each"
_TAIL = ("finish", "usage", "error", "done", "malformed")
_TOGETHER = 0.0005  # seconds
_USAGE = ("prompt_tokens", "completion_tokens", "total_tokens")


@dataclass(frozen=True, slots=True)
class Link:
    """Something that happened `at` seconds after the server accepted the request (or the client sent it, if no server
    says)."""

    at: float
    side: str
    what: str


def skew(transcript: Transcript, entry: Entry) -> float:
    """Seconds by which the two clocks disagree for certain: a request is accepted after it was sent and before its
    answer begins. 0 on one machine."""
    accepted = entry.accepted_at - transcript.started_at
    latest = transcript.headers_at if transcript.headers_at is not None else accepted
    return min(accepted, 0.0) or max(accepted - latest, 0.0)


def links(transcript: Transcript, entry: Entry | None = None) -> list[Link]:
    """Both sides, ordered by time. Where the clocks disagree the client's is set right by as much as is certain; where
    the server's does not run in real time there is no chain."""
    if entry is not None and not entry.in_real_time:
        return []
    shift = 0.0 if entry is None else _shift(transcript, entry)
    client = [Link(link.at - shift, link.side, link.what) for link in _client(transcript)]
    server = [] if entry is None else list(_server(entry))
    return sorted([*server, *client], key=lambda link: link.at)


def delays(transcript: Transcript, entry: Entry) -> list[float]:
    """Seconds from the server's sending to the client's seeing of each token; empty if they did not count alike, or the
    server does not run in real time."""
    if not entry.in_real_time:
        return []
    shift = _shift(transcript, entry)
    arrived, sent = transcript.token_times, entry.sent()
    return [at - shift - left for at, left in zip(arrived, sent, strict=True)] if len(arrived) == len(sent) else []


def _shift(transcript: Transcript, entry: Entry) -> float:
    """From the client's clock to the server's."""
    return entry.accepted_at - transcript.started_at - skew(transcript, entry)


def _server(entry: Entry) -> Iterator[Link]:
    if entry.refused:
        yield Link(0.0, "server", f"refuses the request: {entry.status}")
        return
    held, free = entry.block("held"), entry.block("free_after")
    texts = {
        "accepted": f"tokenizer: {_count(entry.prompt_tokens, 'prompt token')}, into the queue",
        "scheduled": f"scheduler: gets its seat{_cached(entry)}",
        "first_token": f"prefill done: {_prefilled(entry)}; token 1 leaves",
        "finished": f"end: {_length(entry)} -> {_reason(entry)}",
        "blocks_freed": f"{_count(held, 'block')} freed, {free} free" if held is not None else "blocks freed",
    }
    for name, text in texts.items():
        if (at := entry.at(name)) is not None:
            yield Link(at, "server", text)
    if closed := (entry.raw.get("timeline") or {}).get("client_closed"):
        yield Link(float(closed["t"]), "server", f"the client left ({closed['how']})")


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _length(entry: Entry) -> str:
    tokens = int(entry.raw.get("completion_tokens") or 0)
    return _count(tokens, "token") + (" = max_tokens" if tokens == entry.max_tokens else "")


def _reason(entry: Entry) -> str:
    return str(entry.raw.get("finish_reason") or entry.raw.get("state"))


def _cached(entry: Entry) -> str:
    cached = entry.raw.get("cached_tokens")
    return f", {cached} tokens from the prefix cache" if cached else ""


def _prefilled(entry: Entry) -> str:
    size = entry.block_size
    if not size:
        return "its KV is computed"
    return f"its KV is in {_count(ceil(entry.prompt_tokens / size), 'block')} of {size}"


def _client(transcript: Transcript) -> Iterator[Link]:
    head, rest = transcript.arrivals[:_HEAD], transcript.arrivals[_HEAD:]
    tokens = [arrival for arrival in rest if arrival.said.is_token]
    tail = [arrival for arrival in rest if arrival.said.kind in _TAIL and not arrival.said.is_token]
    yield Link(0.0, "client", "sends the request")
    yield from (Link(arrival.at, "client", _event(transcript, arrival)) for arrival in head)
    if len(tokens) > 1:
        yield Link(tokens[0].at, "client", f"{_count(len(tokens) - 1, 'more event')}, {_pace(transcript.token_times)}")
    yield from (Link(arrival.at, "client", _event(transcript, arrival)) for arrival in (*tokens[-1:], *tail))
    if transcript.ended_at is not None:
        yield Link(transcript.ended_at, "client", f"the body ends ({transcript.end})")


def _pace(times: Sequence[float]) -> str:
    gap = median(later - earlier for earlier, later in pairwise(times))
    return f"one each {gap * 1000:.0f} ms" if gap >= _TOGETHER else "all at once"


def _event(transcript: Transcript, arrival: Arrival) -> str:
    said = arrival.said
    if said.kind == "done":
        return "[DONE]"
    if said.kind == "usage":
        usage = transcript.answer.usage or {}
        return "usage {" + ", ".join(str(usage.get(name)) for name in _USAGE) + "} (" + ", ".join(_USAGE) + ")"
    return f"{said.kind} {said.text or said.reasoning!r}"
