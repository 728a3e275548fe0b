"""Verdicts: what became of a stream, and the numbers that say so.

Rules are tried in order and the first that speaks is the verdict: an answer that is wrong is never called late, nor one
that is cut called slow.
"""

from collections.abc import Callable, Sequence

from mockvllm_client.bursts import GAP
from mockvllm_client.timing import judge_timing
from mockvllm_client.transcript import End, Transcript
from mockvllm_client.verdict import Kind, Verdict

__all__ = ["Kind", "Verdict", "judge", "warnings"]

_EARLY = 0.05  # seconds within which a head comes that nobody holds


def judge(transcript: Transcript, sent: Sequence[float] | None = None) -> Verdict:
    """The verdict about a finished transcript. `sent` is when each token left the server, on any clock, if it says so:
    without it an engine that says everything at once looks like a proxy that collects everything."""
    for rule in _RULES:
        if verdict := rule(transcript):
            return verdict
    return judge_timing(transcript, sent)


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
