"""What came together: reads of the socket less than a moment apart are one burst, however many packets it took."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean

from mockvllm_client.transcript import Transcript

GAP = 0.001  # seconds of silence that end a burst; no engine streams tokens of one sequence faster


@dataclass(slots=True)
class Burst:
    """`tokens` are the token events of the choice that spoke first; `whole`: it ended between two events."""

    at: float
    last: float
    tokens: int = 0
    events: int = 0
    size: int = 0
    whole: bool = True


def bursts(transcript: Transcript) -> list[Burst]:
    """The bursts that brought tokens, in order."""
    tokens = _tokens_by_read(transcript)
    found: list[Burst] = []
    for read in transcript.reads:
        if not found or read.at - found[-1].last >= GAP:
            found.append(Burst(read.at, read.at))
        burst = found[-1]
        burst.last, burst.whole = read.at, read.whole
        burst.tokens += tokens[read.at]
        burst.events += read.events
        burst.size += read.size
    return [burst for burst in found if burst.tokens]


def tokens_per_burst(times: Sequence[float]) -> float:
    """Mean number of tokens that came (or left) together, given the ascending time of each; 0 for none."""
    return len(times) / (1 + sum(b - a >= GAP for a, b in pairwise(times))) if times else 0.0


def mean_gap(times: Sequence[float]) -> float:
    """Mean seconds between two tokens; 0 for fewer than two."""
    return fmean(b - a for a, b in pairwise(times)) if len(times) > 1 else 0.0


def _tokens_by_read(transcript: Transcript) -> Counter[float]:
    arrivals = [arrival for arrival in transcript.arrivals if arrival.said.is_token]
    return Counter(arrival.at for arrival in arrivals if arrival.said.choice == arrivals[0].said.choice)
