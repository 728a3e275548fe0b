"""One declaration per knob: what the parser, the config file, the help and the reference page are derived from."""

from collections.abc import Callable, Mapping
from dataclasses import Field, dataclass, field
from math import inf
from typing import Any


@dataclass(frozen=True, slots=True)
class Interval:
    """A range of numbers in the usual notation: `[0, 1)` holds 0 but not 1; `inf` leaves a side open."""

    text: str

    @property
    def is_bounded(self) -> bool:
        """Whether both sides are numbers."""
        return "inf" not in self.text

    def __contains__(self, value: float) -> bool:
        low, high = (float(side) for side in self.text[1:-1].split(","))
        above = value > low or (self.text[0] == "[" and value == low)
        below = value < high or (self.text[-1] == "]" and value == high)
        return above and below and value not in (inf, -inf)


@dataclass(frozen=True, slots=True)
class Knob:
    """What the type and the default of a field do not say."""

    help: str
    aliases: tuple[str, ...]
    parse: Callable[[str], Any] | None
    within: Interval | None
    json: bool
    switch: bool
    secret: bool
    by_profile: Mapping[str, Any]


def knob(
    default: Any,
    help: str,
    *aliases: str,
    parse: Callable[[str], Any] | None = None,
    within: str | None = None,
    json: bool = False,
    switch: bool = False,
    secret: bool = False,
    by_profile: Mapping[str, Any] | None = None,
) -> Any:
    """A field of `Settings`. Flag and YAML key are the field's name with dashes; its type says how a value is read.

    `parse` reads a value (or, of a tuple, one element) where the type alone is not enough; `within` is the allowed
    `Interval`; `json` marks a list that is given as one JSON value; a `switch` has no negative form; a `secret` is
    masked in the log; `by_profile` holds the defaults of releases that differ from the newest.
    """
    interval = Interval(within) if within else None
    data = {"knob": Knob(help, aliases, parse, interval, json, switch, secret, by_profile or {})}
    if isinstance(default, dict):
        return field(default_factory=default.copy, metadata=data)
    return field(default=default, metadata=data)


def knob_of(declared: Field[Any]) -> Knob:
    """The declaration behind a dataclass field that `knob` made."""
    declaration: Knob = declared.metadata["knob"]
    return declaration


def flag_of(name: str) -> str:
    """`max_model_len` is `--max-model-len`."""
    return "--" + name.replace("_", "-")
