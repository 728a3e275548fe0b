"""The verdict about a sound stream: did its tokens arrive as they were made, and if not, who held them."""

from collections.abc import Sequence
from itertools import pairwise
from statistics import median

from mockvllm_client.bursts import GAP, Burst, bursts, mean_gap, tokens_per_burst
from mockvllm_client.transcript import Transcript
from mockvllm_client.verdict import Kind, Verdict

_FEWEST = 3  # token events that a verdict about timing needs
_SHORTEST = 0.1  # seconds of a whole answer that nobody notices being held
_MANY = 1.3  # times the tokens per burst that the server sent: somebody holds them back (a busy machine makes 1.1)
_FEW = 5  # tokens that a short stall of this machine may have put together
_UNSEEN = 0.02  # seconds of holding that nobody notices


def judge_timing(transcript: Transcript, sent: Sequence[float] | None) -> Verdict:
    """STREAMING, BUFFERED, or COMPLETE where there is too little to tell; `sent` as for `check.judge`."""
    times = transcript.token_times
    if not transcript.streamed:
        return Verdict(Kind.COMPLETE, why="one body, not a stream")
    if len(times) < _FEWEST or times[-1] < _SHORTEST:
        why = f"{len(times)} token events in {times[-1]:.3f} s are too few to judge their timing"
        return Verdict(Kind.COMPLETE, why=why)
    groups = bursts(transcript)
    voices = len(times) / sum(burst.tokens for burst in groups)  # choices speak in step
    seen, made = tokens_per_burst(times) / voices, max(1.0, tokens_per_burst(sent or ()) / voices)
    stall = len(times) / voices - len(groups) < _FEW and _held(groups, times, sent or ()) < _UNSEEN
    if seen < _MANY * made or stall:
        why = f"{seen:.2f} tokens at a time" + (f", as the server sent them ({made:.2f})" if made > _MANY else "")
        return Verdict(Kind.STREAMING, "", why, _evidence(groups, times))
    return Verdict(Kind.BUFFERED, _how(transcript, groups, times), _why(groups, times), _evidence(groups, times))


def _held(groups: Sequence[Burst], times: Sequence[float], sent: Sequence[float]) -> float:
    """For how many seconds tokens were held at most, as far as can be known."""
    if len(sent) == len(times):
        delays = [came - left for came, left in zip(times, sent, strict=True)]
        return max(delays) - min(delays)
    largest = max(burst.tokens for burst in groups)
    return times[-1] if len(groups) == 1 else (times[-1] - times[0]) * (largest - 1) / sum(b.tokens for b in groups)


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
