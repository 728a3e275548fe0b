"""Who decides what is said: a directive, else the answer the server was started with."""

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, cycle, islice
from typing import NamedTuple

from mockvllm.answers.beam_search import Beam, BeamSearch
from mockvllm.answers.directives import Directive
from mockvllm.answers.logprobs import ranked_candidates
from mockvllm.answers.masks import TokenMask
from mockvllm.answers.script import Escape, Said, Script, Speech
from mockvllm.answers.tokenizer import LOREM, Tokenizer

SENTENCE = "Tu pedido sale mañana y llega en dos o tres días hábiles ."
ANSWERS = ("sentence", "repeat", "echo", "random", "lorem")
_RANDOM_WORDS = (16, 128)
_VOCABULARY = tuple(dict.fromkeys(f"{SENTENCE} {LOREM}".split()))


class Turn(NamedTuple):
    """What a script depends on, besides the server's flags."""

    request_id: str
    user_text: str = ""
    """The last user message."""
    skip_special_tokens: bool = True
    ignore_eos: bool = False
    min_tokens: int = 0
    mask: TokenMask | None = None
    before: Sequence[int] = ()
    """The last tokens of the prompt, if the text of what is said depends on them."""
    seed: int | None = None
    """The request's own: what is drawn then depends on it and `user_text` alone, on no id and no server."""


class Beams(NamedTuple):
    """What a beam search is to find; see `BeamSearch`."""

    width: int
    max_tokens: int
    num_prompt_tokens: int
    length_penalty: float


@dataclass(frozen=True, slots=True)
class Plan:
    """What to say: `first`, then the end token if `end_token`; who is made to go on says `again` over and over.

    Without an end token it ends by itself after `first`, unless `endless`. `name`: of a plan that is always the same.
    `kept`: see `Speech`.
    """

    first: Sequence[int]
    again: Sequence[int]
    end_token: bool = False
    endless: bool = False
    name: str | None = None
    kept: object = None

    def end(self, num_first: int, turn: Turn) -> int | None:
        """Where it ends without an end token: after `num_first` tokens, or the repetition that fills `min_tokens`."""
        if self.end_token or self.endless or turn.ignore_eos or not num_first:
            return None
        missing = max(0, turn.min_tokens - num_first)
        return num_first + -(-missing // len(self.again)) * len(self.again)


class Speaker:
    """Makes scripts. Those that depend on no request are made once and shared."""

    def __init__(self, tokenizer: Tokenizer, escape: Escape, answer: str = "sentence", seed: int = 0) -> None:
        if answer not in ANSWERS:
            raise ValueError(f"no answer {answer!r}: choose from {', '.join(ANSWERS)}")
        self._tokenizer = tokenizer
        self._escape = escape
        self._answer = answer
        self._seed = seed
        encoded = [tokenizer.encode_kept(text) for text in (SENTENCE, " " + SENTENCE, LOREM, " " + LOREM)]
        (sentence, self._cycle, lorem, again), self._kept = zip(*encoded, strict=True)
        self._plans = {
            "sentence": Plan(sentence, self._cycle, name="sentence"),
            "repeat": Plan(sentence, self._cycle, endless=True, name="repeat"),
            "eos": Plan(sentence, self._cycle, end_token=True, name="eos"),
            "lorem": Plan(lorem, again, name="lorem"),
        }
        self._shared: dict[tuple[str, str, bool, bool], Script] = {}

    def script(self, turn: Turn, directive: Directive | None = None, index: int = 0) -> Script:
        """The script of choice `index`."""
        plan = self._default(turn, index) if directive is None else self._told(directive)
        source = "default" if directive is None else directive.source
        if plan.name is None or turn.mask is not None or turn.min_tokens or turn.before:
            return self._make(plan, turn, source)
        key = (plan.name, source, turn.skip_special_tokens, turn.ignore_eos)
        script = self._shared.get(key)
        if script is None:
            script = self._shared[key] = self._make(plan, turn, source)
        return script

    def beams(self, turn: Turn, directive: Directive | None, search: Beams) -> list[Script]:
        """The script of each beam: the likeliest token is what would be said, the others what else could be."""
        likeliest = self.script(turn, directive)
        first = likeliest.token(0)
        others = (other for other in self.alternatives(0) if other != first and _permits(turn.mask, other))
        ranked = ranked_candidates(first, islice(others, 2 * search.width - 1))
        end_id = None if turn.ignore_eos else self._tokenizer.eos_token_id
        beams = BeamSearch(ranked, *search, end_id).best()
        return [self._beam(beam, turn, likeliest) for beam in beams]

    def _beam(self, beam: Beam, turn: Turn, likeliest: Script) -> Script:
        """One that ended before it said anything says its end token."""
        tokens = beam.tokens() or [self._tokenizer.eos_token_id]
        said = chain(self._texts(tokens, turn, turn.before), cycle(list(self._texts(self._cycle, turn))))
        speech = Speech(said, self._escape, likeliest.speech.kept)
        return Script(speech, len(tokens) if beam.is_ended and beam.num_tokens else None, likeliest.origin)

    def alternatives(self, position: int) -> Iterator[int]:
        """What else could stand at `position`, best first: the sentence from there, once around, then fillers."""
        start = position % len(self._cycle)
        return chain(self._cycle[start:], self._cycle[:start], self._tokenizer.fillers())

    def _default(self, turn: Turn, index: int) -> Plan:
        plan = self._plans.get(self._answer)
        if plan is not None:
            return plan
        return self._text(
            turn.user_text if self._answer == "echo" else self._random_words(turn, index), end_token=False
        )

    def _told(self, directive: Directive) -> Plan:
        if directive.say is not None:
            return self._text(directive.say, directive.end_token)
        return self._plans["eos" if directive.end_token else "sentence"]

    def _text(self, text: str, end_token: bool) -> Plan:
        first, kept = self._tokenizer.encode_kept(text)
        return Plan(first, self._cycle, end_token=end_token or not first, kept=kept)

    def _random_words(self, turn: Turn, index: int) -> str:
        drawn_for = (self._seed, turn.request_id) if turn.seed is None else (turn.seed, turn.user_text)
        rng = random.Random(":".join(map(str, (*drawn_for, index))))
        return " ".join(rng.choices(_VOCABULARY, k=rng.randint(*_RANDOM_WORDS)))

    def _make(self, plan: Plan, turn: Turn, source: str) -> Script:
        opening = [*plan.first, self._tokenizer.eos_token_id] if plan.end_token else plan.first
        said: Iterable[Said]
        if turn.mask is None:
            said = chain(self._texts(opening, turn, turn.before), cycle(list(self._texts(plan.again, turn))))
        else:
            before: list[int] = []
            opening = list(turn.mask.apply(opening, before))
            said = self._texts(chain(opening, turn.mask.apply(cycle(plan.again), before)), turn, turn.before)
        origin = {"source": source, "answer": plan.name or "text"}
        return Script(Speech(said, self._escape, plan.kept), plan.end(len(opening), turn), origin)

    def _texts(self, token_ids: Iterable[int], turn: Turn, before: Sequence[int] = ()) -> Iterator[Said]:
        detokenize = self._tokenizer.detokenizer(skip_special_tokens=turn.skip_special_tokens)
        for token_id in before:
            detokenize(token_id)
        return ((token_id, detokenize(token_id)) for token_id in token_ids)


def _permits(mask: TokenMask | None, token_id: int) -> bool:
    return mask is None or mask.permits(token_id, ())
