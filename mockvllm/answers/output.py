"""From a script's tokens to the text that leaves: held-back text, stop strings, stop tokens (vLLM's detokenizer)."""

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from mockvllm.answers.script import Script


class Delta(msgspec.Struct, frozen=True, gc=False):
    """What some tokens add: the text that may leave, and the tokens themselves; `start` is the index of the first."""

    text: str
    start: int
    token_ids: Sequence[int]


@dataclass(frozen=True, slots=True)
class StopRules:
    """`stop`: strings that end the text once more than `min_tokens` tokens exist; cut off unless `include`."""

    stop: Sequence[str] = ()
    include: bool = False
    min_tokens: int = 0

    @property
    def window(self) -> int:
        """Characters at the end of a text that may yet turn out to begin a stop string; held back unless `include`."""
        return max(map(len, self.stop)) - 1 if self.stop else 0


NO_STOP = StopRules()


class Output:
    """One choice's way through its script. `stop_reason` is the stop string that ended it, None before.

    `pieces`: the texts of the tokens, escaped for JSON, as far as the script is known; `grow` makes it known further.
    """

    __slots__ = (
        "_collected", "_end_ids", "_held_back", "_leaving", "_rules", "_sent", "_text", "_window",
        "grow", "num_tokens", "pieces", "script", "stop_reason",
    )  # fmt: skip

    def __init__(self, script: Script, rules: StopRules = NO_STOP, end_ids: frozenset[int] = frozenset()) -> None:
        self.script = script
        self.pieces = script.speech.pieces
        self.grow = script.speech.grow
        self.num_tokens = 0
        self.stop_reason: str | None = None
        self._end_ids = end_ids
        self._rules = rules
        self._window = rules.window
        self._held_back = 0 if rules.include else self._window
        self._leaving: list[str] = []  # texts that may leave
        self._text = ""  # the last characters: those held back, before them what a stop string may have begun with
        self._sent = 0  # characters of `_text` that may leave or have left
        self._collected = 0  # tokens that have left

    @property
    def num_waiting(self) -> int:
        """Tokens since the last `collect`."""
        return self.num_tokens - self._collected

    def ends_silently(self, finish_reason: str, n: int) -> bool:
        """True: a sequence that ends so after `n` more tokens ends on a stop token, whose text is not shown."""
        if finish_reason != "stop" or not n or self._rules.include:
            return False
        return self.script.token(self.num_tokens + n - 1) in self._end_ids

    def advance(self, n: int, *, silent_end: bool = False) -> None:
        """Say `n` more tokens, none behind a completed stop string; `silent_end`: the last one shows no text."""
        start, stop = self.num_tokens, self.num_tokens + n
        if stop > len(self.pieces):
            self.grow(stop)
        shown = self.script.speech.texts[start : stop - 1 if silent_end else stop]
        if self._rules.stop:
            for text in shown:
                self.num_tokens += 1
                self._add(text)
                if self.stop_reason is not None:
                    return
        else:
            self._leaving += shown
        self.num_tokens = stop

    def collect(self, *, finished: bool = False) -> Delta:
        """What was said since the last time, but for the text that is held back until `finished`."""
        if finished:
            self._release(0)
        text = "".join(self._leaving)
        self._leaving.clear()
        start, self._collected = self._collected, self.num_tokens
        return Delta(text, start, self.script.tokens(start, self.num_tokens))

    def skip(self) -> None:
        """What was said has left already."""
        self._collected = self.num_tokens

    def _add(self, text: str) -> None:
        known = len(self._text)
        self._text += text
        if self.num_tokens > self._rules.min_tokens:
            found = _earliest(self._text, known, self._rules.stop)
            if found is not None:
                self.stop_reason, end = found
                self._text = self._text[: end if self._rules.include else end - len(self.stop_reason)]
        self._release(0 if self.stop_reason is not None else self._held_back)

    def _release(self, held_back: int) -> None:
        end = max(self._sent, len(self._text) - held_back)
        self._leaving.append(self._text[self._sent : end])
        kept = max(0, min(end, len(self._text) - self._window))
        self._text = self._text[kept:]
        self._sent = end - kept


def _earliest(text: str, known: int, stop: Sequence[str]) -> tuple[str, int] | None:
    """(stop string, its end) of the one that is complete first behind the `known` characters; of equals the first."""
    best: tuple[str, int] | None = None
    for string in stop:
        at = text.find(string, max(0, known + 1 - len(string)))
        if at >= 0 and (best is None or at + len(string) < best[1]):
            best = (string, at + len(string))
    return best
