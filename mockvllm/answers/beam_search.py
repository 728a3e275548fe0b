"""Beam search where every position offers the same candidates, as vLLM's front end runs it (0.30-0.33).

vLLM asks its engine for one token of each beam at a time, so that to a scripted model each is the first of its answer.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Optional


class Candidate(NamedTuple):
    token_id: int
    logprob: float


@dataclass(frozen=True, slots=True)
class BeamSearch:
    """`candidates`: likeliest first. `width`: beams kept. `end_id`: the token that ends a beam, and is no part of it
    (None: none does). Scores are per token, those of the prompt included, to the power of `length_penalty`.
    """

    candidates: Sequence[Candidate]
    width: int
    max_tokens: int
    num_prompt_tokens: int
    length_penalty: float = 1.0
    end_id: int | None = None

    def best(self) -> list["Beam"]:
        """The best `width`, by score. Of equals the one that was found first."""
        going_on = [candidate for candidate in self.candidates if candidate.token_id != self.end_id]
        ends = [candidate.logprob for candidate in self.candidates if candidate.token_id == self.end_id]
        beams, ended = [_ROOT], list[Beam]()
        for _ in range(self.max_tokens):
            for logprob in ends:
                ended = self._ranked([*ended, *(beam.end(logprob) for beam in beams)])
            beams = sorted(self._grown(beams, going_on), key=_logprob, reverse=True)[: self.width]
            if not beams:
                break
        return self._ranked([*ended, *beams])

    def _grown(self, beams: Sequence["Beam"], going_on: Sequence[Candidate]) -> Iterator["Beam"]:
        """The next beams, with no more of the others than can be among the best of what is sorted already."""
        for place, beam in enumerate(beams, 1):
            for token_id, logprob in going_on[: self.width // place]:
                yield Beam(beam, token_id, beam.logprob + logprob, beam.num_tokens + 1)

    def _ranked(self, beams: Sequence["Beam"]) -> list["Beam"]:
        return sorted(beams, key=self._score, reverse=True)[: self.width]

    def _score(self, beam: "Beam") -> float:
        return beam.logprob / float((self.num_prompt_tokens + beam.num_tokens) ** self.length_penalty)


class Beam(NamedTuple):
    """A beam is its last token and the beam before it. `logprob`: of all its tokens. `is_ended`: by the end token."""

    before: Optional["Beam"]
    token_id: int
    logprob: float
    num_tokens: int
    is_ended: bool = False

    def end(self, logprob: float) -> "Beam":
        return self._replace(logprob=self.logprob + logprob, is_ended=True)

    def tokens(self) -> list[int]:
        said = []
        beam: Beam | None = self
        while beam is not None and beam.before is not None:
            said.append(beam.token_id)
            beam = beam.before
        return said[::-1]


_ROOT = Beam(None, -1, 0.0, 0)


def _logprob(beam: Beam) -> float:
    return beam.logprob
