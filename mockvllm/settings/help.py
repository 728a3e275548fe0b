"""The text of `--help`, `--help=all`, `--help=<Group>` and `--help=<flag>`, from the declarations."""

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args, get_origin

from mockvllm.settings.arguments import negatives, split_optional
from mockvllm.settings.ignored import IGNORED, flags_of
from mockvllm.settings.knob import flag_of, knob_of
from mockvllm.settings.record import DEFAULT_MODEL, GROUPS, Settings, knobs

WIDTH = 100
IGNORES = "accepted and ignored"
USAGE = "usage: mockvllm serve [MODEL] [flags]"
INTRO = f"""{USAGE}

Serve MODEL as vLLM does (default: {DEFAULT_MODEL}, served as its last component).
A flag may be written with dashes or underscores, as --flag value or --flag=value."""
WAYS = """--help=all shows every flag, --help=<Group> a group, --help=<word> the flags with that word in their name.

A JSON value may be given whole or by its keys; + adds to a list:
   --kv-events-config '{"publisher": "zmq"}'
   --kv-events-config.publisher zmq
   --x.names+ a --x.names+=b,c"""


@dataclass(frozen=True, slots=True)
class Option:
    """What help and the reference page say of one flag."""

    flags: tuple[str, ...]
    takes: str
    default: str
    help: str

    @property
    def line(self) -> str:
        """The forms of the flag and what follows it."""
        return f"{', '.join(self.flags)} {self.takes}".rstrip()


def help_text(word: str) -> str:
    """The page for `--help=<word>`; for `""` the overview."""
    wanted = word.lower().replace("_", "-").lstrip("-")
    groups = options()
    if not wanted:
        return "\n".join([INTRO, "", *_overview(groups), "", WAYS])
    named = {name: group for name, group in groups.items() if wanted in ("all", name.lower())}
    found = named or {
        name: matching
        for name, group in groups.items()
        if (matching := [option for option in group if any(wanted in flag for flag in option.flags)])
    }
    if not found:
        return f"No group or flag matches {word!r}. --help shows the groups, --help=all every flag."
    return "\n".join([USAGE, *(line for name, group in found.items() for line in ["", f"{name}:", *_rows(group)])])


def options() -> dict[str, list[Option]]:
    """Every option by group, declared or ignored."""
    groups = {group.__name__: list(_declared(group)) for group in GROUPS}
    for name, ignored in IGNORED.items():
        rows = (Option(flags_of(key), "", shown(default), IGNORES) for key, default in ignored.items())
        groups.setdefault(name, []).extend(rows)
    return groups


def summaries() -> dict[str, str]:
    """What each group is about."""
    about = {group.__name__: (group.__doc__ or "").strip() for group in GROUPS}
    return {name: about.get(name, f"{IGNORES.capitalize()}.") for name in options()}


def _overview(groups: Mapping[str, Sequence[Option]]) -> Iterator[str]:
    about = summaries()
    width = max(map(len, groups)) + 2
    yield "Groups:"
    for name in groups:
        yield f"  {name:{width}}{about[name]}"
    yield ""
    yield "Mock:"
    yield from _rows(groups["Mock"])


def _rows(group: Sequence[Option]) -> Iterator[str]:
    for option in group:
        yield from _wrapped(option.line, 2)
        yield from _wrapped(option.help + (f" (default: {option.default})" if option.default else ""), 6)


def _wrapped(text: str, indent: int) -> list[str]:
    margin = " " * indent
    return textwrap.wrap(text, WIDTH, initial_indent=margin, subsequent_indent=margin, break_on_hyphens=False)


def _declared(group: type) -> Iterator[Option]:
    defaults = Settings()
    for declared in knobs(group):
        flag, declaration = flag_of(declared.name), knob_of(declared)
        kind, _ = split_optional(declared.type)
        flags = (flag, *declaration.aliases)
        if kind is bool and not declaration.switch:
            flags = (*flags, negatives(flag)[0])
        within = f"; in {declaration.within.text}" if declaration.within and declaration.within.is_bounded else ""
        yield Option(
            flags, takes(kind, declaration.json), shown(getattr(defaults, declared.name)), declaration.help + within
        )


def takes(kind: Any, json: bool) -> str:
    """What stands behind a flag of this type."""
    if kind is bool:
        return ""
    if get_origin(kind) is Literal:
        return "{" + ",".join(str(choice) for choice in get_args(kind)) + "}"
    if json or get_origin(kind) not in (None, tuple):
        return "JSON"
    if get_origin(kind) is tuple:
        return "VALUE ..."
    return {int: "INT", float: "NUMBER"}.get(kind, "TEXT")


def shown(default: Any) -> str:
    """A default as one would write it on a command line; empty when the option is unset."""
    if default is None or isinstance(default, type) or default in ("", (), [], {}):
        return ""
    if isinstance(default, bool):
        return "on" if default else "off"
    if isinstance(default, tuple | list):
        return " ".join(map(str, default))
    return f"{default:g}" if isinstance(default, float) else str(default)
