"""What a client notices between two releases: read from the profiles' rules and the flags' defaults."""

from collections.abc import Iterator
from dataclasses import Field, dataclass, fields
from typing import Any

from mockvllm.profiles import Profile
from mockvllm.profiles.rule import rule_of
from mockvllm.settings import Settings
from mockvllm.settings.knob import flag_of, knob_of
from mockvllm.settings.non_default import default_of

SEEN_IN = {"version": "health/version", "allowed_origins": "cors/default_preflight_no_flag"}
"""The recorded exchanges that show what is declared elsewhere than in the profiles."""


@dataclass(frozen=True, slots=True)
class Change:
    """`rule` of `section` is `before` in one release and `after` in the other. `seen_in`: the recorded exchange
    (`group/case`) that shows it, or empty; `needs`: what it takes otherwise.
    """

    section: str
    rule: str
    text: str
    before: Any
    after: Any
    seen_in: str
    needs: str


def changes(before: Profile, after: Profile) -> list[Change]:
    """Every difference that the mock follows; none between a release and itself."""
    found = (*_version(before, after), *_rules(before, after), *_defaults(before, after))
    return [change for change in found if change.before != change.after]


def _version(before: Profile, after: Profile) -> Iterator[Change]:
    text = "the version in /version, in fingerprints and in the log"
    yield Change("server", "version", text, before.version, after.version, SEEN_IN["version"], "")


def _rules(before: Profile, after: Profile) -> Iterator[Change]:
    for section in fields(Profile):
        one, other = getattr(before, section.name), getattr(after, section.name)
        for declared in () if isinstance(one, str) else fields(one):
            rule, name = rule_of(declared), declared.name
            values = getattr(one, name), getattr(other, name)
            yield Change(section.name, name, rule.text, *values, rule.seen_in, rule.needs)


def _defaults(before: Profile, after: Profile) -> Iterator[Change]:
    for declared in fields(Settings):
        if "knob" in declared.metadata and (knob := knob_of(declared)).by_profile:
            flag = flag_of(declared.name)
            values = _default(declared, before), _default(declared, after)
            text = f"default of {flag} ({knob.help})"
            yield Change(
                "flags", declared.name, text, *values, SEEN_IN.get(declared.name, ""), f"a server without {flag}"
            )


def _default(declared: Field[Any], profile: Profile) -> Any:
    value = default_of(declared, profile.name)
    return list(value) if isinstance(value, tuple) else value
