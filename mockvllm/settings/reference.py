"""`docs/flags.md`, from the declarations: `python -m mockvllm.settings.reference > docs/flags.md`."""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import fields

from mockvllm.settings.environment import Environment
from mockvllm.settings.help import IGNORES, INTRO, WAYS, Option, options, shown, summaries
from mockvllm.settings.knob import knob_of

HEAD = """# Flags of `mockvllm serve`

Generated from the declarations in `mockvllm/settings`: `python -m mockvllm.settings.reference > docs/flags.md`."""
CONFIG = """## Config file

`--config FILE.yaml` takes the long flags without dashes as keys. The command line wins over the file, the file over the
environment. `true` sets a flag and `false` unsets it, a list gives several values, an object is a JSON value."""


def markdown() -> str:
    """The whole page."""
    about = summaries()
    parts = [HEAD, f"```\n{INTRO}\n\n{WAYS}\n```"]
    parts += [f"## {name}\n\n{_group(about[name], group)}" for name, group in options().items()]
    return "\n\n".join([*parts, CONFIG, f"## Environment\n\n{_table(_environment())}"]) + "\n"


def _group(about: str, group: Sequence[Option]) -> str:
    known = [(f"`{option.line}`", _default(option.default), option.help) for option in group if option.help != IGNORES]
    ignored = ", ".join(f"`{option.line}`" for option in group if option.help == IGNORES)
    parts = [about, _table([("flag", "default", "what it does"), *known])] if known else []
    return "\n\n".join([*parts, f"{IGNORES.capitalize()}: {ignored}."] if ignored else parts)


def _table(rows: Sequence[tuple[str, str, str]]) -> str:
    head, *body = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([head, "|---|---|---|", *body])


def _default(text: str) -> str:
    return f"`{text}`" if text else ""


def _environment() -> list[tuple[str, str, str]]:
    return [("variable", "default", "what it does"), *_variables()]


def _variables() -> Iterator[tuple[str, str, str]]:
    for declared in fields(Environment):
        yield f"`{declared.name}`", _default(shown(declared.default)), knob_of(declared).help


if __name__ == "__main__":
    sys.stdout.write(markdown())
