"""Verdicts: what became of a stream, and the numbers that say so.

Rules are tried in order and the first that speaks is the verdict: an answer that is wrong is never called late, nor one
that is cut called slow.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import pairwise
from statistics import median

from mockvllm_client.bursts import GAP, Burst, bursts, mean_gap, tokens_per_burst
from mockvllm_client.transcript import End, Transcript

_MANY = 1.3  # times the tokens per burst that the server sent: somebody holds them back (a busy machine makes 1.1)
_FEWEST = 3  # token events that a verdict about timing needs
_EARLY = 0.05  # seconds within which a head comes that nobody holds
_SHORTEST = 0.02  # seconds of an answer below which nothing can have been held


class Kind(StrEnum):
    """The classes of a verdict."""

    STREAMING = "STREAMING"
    COMPLETE = "COMPLETE"  # whole and sound, and no stream or too short a one to judge its timing
    BUFFERED = "BUFFERED"  # full, bytes, events, time, gzip
    EMPTY = "EMPTY"
    ABORTED = "ABORTED"
    TRUNCATED = "TRUNCATED"  # reset, eof, idle, ours, no_finish, no_done
    MALFORMED = "MALFORMED"  # stray, json
    INBAND_ERROR = "INBAND_ERROR"
    HTTP_ERROR = "HTTP_ERROR"


@dataclass(frozen=True, slots=True)
class Verdict:
    """`why` says it in words, `evidence` in numbers (times in ms, sizes in bytes)."""

    kind: Kind
    detail: str = ""
    why: str = ""
    evidence: dict[str, float | int | str] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """Whether a user got the answer, as it was made."""
        return self.kind in (Kind.STREAMING, Kind.COMPLETE)

    def __str__(self) -> str:
        return f"{self.kind}({self.detail})" if self.detail else str(self.kind)


def judge(transcript: Transcript, sent: Sequence[float] | None = None) -> Verdict:
    """The verdict about a finished transcript. `sent` is when each token left the server, on any clock, if it says so:
    without it an engine that says everything at once looks like a proxy that collects everything."""
    for rule in _RULES:
        if verdict := rule(transcript):
            return verdict
    return _timing(transcript, sent)


def _http_error(transcript: Transcript) -> Verdict | None:
    status = transcript.status
    if status is None or status == 200:
        return None
    why = (transcript.answer.error or {}).get("message") or transcript.body[:300]
    return Verdict(Kind.HTTP_ERROR, str(status), str(why), {"status": status})


def _inband_error(transcript: Transcript) -> Verdict | None:
    error = transcript.answer.error
    if error is None:
        return None
    code = error.get("code", error.get("type", ""))
    return Verdict(Kind.INBAND_ERROR, str(code), str(error.get("message", "")), {"events": transcript.sse.events})


def _malformed(transcript: Transcript) -> Verdict | None:
    sse, answer = transcript.sse, transcript.answer
    if sse.stray_lines:
        why = f"{sse.stray_bytes} bytes that are no SSE in the stream: {sse.sample}"
        return Verdict(Kind.MALFORMED, "stray", why, {"stray_bytes": sse.stray_bytes, "events": sse.events})
    if answer.malformed:
        why = f"{answer.malformed} times no JSON object where one belongs: {answer.sample}"
        return Verdict(Kind.MALFORMED, "json", why, {"malformed": answer.malformed})
    return None


def _truncated(transcript: Transcript) -> Verdict | None:
    evidence: dict[str, float | int | str] = {"events": transcript.sse.events, "reads": len(transcript.reads)}
    if transcript.end is not End.COMPLETE:
        why = f"the connection ended ({transcript.end}) before the body did"
        return Verdict(Kind.TRUNCATED, str(transcript.end), why, evidence)
    choices = transcript.answer.choices.values()
    if not all(choice.finish_reason for choice in choices):
        return Verdict(Kind.TRUNCATED, "no_finish", "a choice has no finish_reason", evidence)
    if choices and transcript.streamed and not transcript.answer.done:
        return Verdict(Kind.TRUNCATED, "no_done", "the stream ends without [DONE]", evidence)
    return None


def _aborted(transcript: Transcript) -> Verdict | None:
    if any(choice.finish_reason == "abort" for choice in transcript.answer.choices.values()):
        return Verdict(Kind.ABORTED, why="the server gave the answer up (finish_reason abort)")
    return None


def _empty(transcript: Transcript) -> Verdict | None:
    choices = transcript.answer.choices.values()
    if any(choice.text or choice.reasoning or choice.tool_calls for choice in choices):
        return None
    return Verdict(Kind.EMPTY, why="no content", evidence={"events": transcript.sse.events})


_RULES: tuple[Callable[[Transcript], Verdict | None], ...] = (
    _http_error,
    _inband_error,
    _malformed,
    _truncated,
    _aborted,
    _empty,
)


def _timing(transcript: Transcript, sent: Sequence[float] | None) -> Verdict:
    times = transcript.token_times
    if not transcript.streamed:
        return Verdict(Kind.COMPLETE, why="one body, not a stream")
    if len(times) < _FEWEST or times[-1] < _SHORTEST:
        return Verdict(
            Kind.COMPLETE, why=f"{len(times)} token events in {times[-1]:.3f} s are too few to judge their timing"
        )
    groups = bursts(transcript)
    evidence = _evidence(groups, times)
    voices = len(times) / sum(burst.tokens for burst in groups)  # choices speak in step
    seen, made = tokens_per_burst(times) / voices, max(1.0, tokens_per_burst(sent or ()) / voices)
    if seen < _MANY * made:
        why = f"{seen:.2f} tokens at a time" + (f", as the server sent them ({made:.2f})" if made > _MANY else "")
        return Verdict(Kind.STREAMING, "", why, evidence)
    return Verdict(Kind.BUFFERED, _how(transcript, groups, times), _why(groups, times), evidence)


def _how(transcript: Transcript, groups: Sequence[Burst], times: Sequence[float]) -> str:
    """Who held it: the last burst is what was left, so the others tell."""
    if transcript.headers.get("content-encoding", "identity") != "identity":
        return "gzip"
    inner = groups[:-1]
    if not inner or mean_gap(times) < GAP:
        return "full"
    if sum(not burst.whole for burst in inner) * 2 > len(inner):
        return "bytes"
    return "events" if len(inner) > 1 and len({burst.events for burst in inner}) == 1 else "time"


def _why(groups: Sequence[Burst], times: Sequence[float]) -> str:
    share = times[0] / times[-1]
    together = "one burst" if len(groups) == 1 else f"{len(groups)} bursts"
    return f"{len(times)} tokens in {together}; the first came after {share:.0%} of the whole time"


def _evidence(groups: Sequence[Burst], times: Sequence[float]) -> dict[str, float | int | str]:
    gaps = [later.at - earlier.at for earlier, later in pairwise(groups)]
    return {
        "token_events": len(times),
        "bursts": len(groups),
        "tokens_per_burst": round(len(times) / len(groups), 2),
        "largest_burst": max(burst.tokens for burst in groups),
        "median_burst_bytes": median(burst.size for burst in groups),
        "median_burst_gap_ms": round(median(gaps) * 1000, 3) if gaps else 0.0,
        "waited_share": round(times[0] / times[-1], 4),
    }


def _head_was_held(transcript: Transcript) -> bool:
    """vLLM sends the head at once, long before its first token."""
    if not transcript.streamed or transcript.headers_at is None or not transcript.reads:
        return False
    return transcript.headers_at > _EARLY and transcript.reads[0].at - transcript.headers_at < GAP * 5


def warnings(transcript: Transcript) -> list[str]:
    """What is odd without being wrong."""
    found = []
    if transcript.streamed and transcript.content_type != "text/event-stream":
        found.append(f"content-type of the stream is {transcript.content_type or 'missing'}, not text/event-stream")
    elif transcript.streamed and "charset=utf-8" not in transcript.headers["content-type"].lower():
        found.append("no charset: some libraries take such a stream for Latin-1")
    if _head_was_held(transcript):
        found.append("the head came with the first event only: a hop kept it back, as nginx does with proxy_buffering")
    if transcript.sse.comments:
        found.append(f"{transcript.sse.comments} comments (keep-alive)")
    if transcript.sse.empty:
        found.append(f"{transcript.sse.empty} events without data")
    if transcript.arrivals and transcript.answer.usage is None:
        found.append("no usage: every token event counts as one token")
    return found
