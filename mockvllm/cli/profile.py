"""`mockvllm profile`: the vLLM releases that the server follows, and what a client notices between two of them."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, Any

import typer
from rich import box
from rich.console import Console
from rich.table import Table

from mockvllm import profiles
from mockvllm.cli import console
from mockvllm.cli.console import JSON, print_json
from mockvllm.conformance.profile_diff import Change, changes
from mockvllm.settings.mock import profile_name

WIDTH = 172
"""Columns of the table where the terminal has fewer: narrower, nobody can read it."""

app = console.new_app("The vLLM releases that the server follows (--profile).")
Name = Annotated[str, typer.Argument(metavar="PROFILE", parser=profile_name, help=", ".join(profiles.NAMES))]


@app.callback()
def profile() -> None:
    """The vLLM releases that the server follows (--profile)."""


@app.command("diff")
def diff(before: Name, after: Name, as_json: JSON = False) -> None:
    """What a client notices when it meets AFTER instead of BEFORE."""
    one, other = profiles.load(before), profiles.load(after)
    found = changes(one, other)
    if as_json:
        print_json({"before": one.version, "after": other.version, "changes": [asdict(change) for change in found]})
    else:
        _print(found, one.name, other.name)


def main(argv: Sequence[str]) -> int:
    return console.run(app, argv, "profile")


def _print(found: Sequence[Change], before: str, after: str) -> None:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    table.add_column("what a client notices", min_width=60)
    for release in (before, after):
        table.add_column(release, max_width=32)
    table.add_column("seen in (or what it takes)", min_width=34)
    for change in found:
        values = _shown(change.before, change.after), _shown(change.after, change.before)
        table.add_row(f"{change.section}: {change.text}", *values, change.seen_in or f"({change.needs})")
    printed = Console(highlight=False, markup=False)
    printed.width = max(printed.width, WIDTH)
    printed.print(table)
    printed.print(f"{len(found)} differences")


def _shown(value: Any, other: Any) -> str:
    """A list without what both have; truth as a word."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(str(item) for item in value if item not in other) or "-"
    return "unset" if value is None else str(value)
