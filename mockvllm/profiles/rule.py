"""How a rule is declared: a field of a section, with what a client notices of it."""

from collections.abc import Mapping
from dataclasses import Field, dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Rule:
    """`text` says what holds where the value is true, or what the values are; `seen_in` names a recorded exchange that
    shows it (`group/case`), or is empty where none does; `needs` says what a client has to do to see it otherwise.
    """

    text: str
    seen_in: str
    needs: str


def rule(text: str, seen_in: str = "", *, needs: str = "") -> Any:
    """A field of a section: what a client notices, and the recorded exchange (`group/case`) that shows it."""
    return field(metadata={"rule": Rule(text, seen_in, needs)})


def rule_of(declared: Field[Any]) -> Rule:
    """The declaration behind a field. Raises LookupError for one that was not made by `rule`."""
    metadata: Mapping[str, Rule] = declared.metadata
    if "rule" not in metadata:
        raise LookupError(f"{declared.name} says nothing about what a client notices: declare it with rule(...)")
    return metadata["rule"]
