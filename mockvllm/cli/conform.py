"""`mockvllm conform`: does a server answer as the real vLLM did, or does?"""

import shlex
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Annotated

import typer

from mockvllm.cli import console
from mockvllm.cli.console import JSON, print_json, print_table
from mockvllm.conformance import selection
from mockvllm.conformance.recordings import Case, read
from mockvllm.conformance.replay import Live, Result, Servers, at, ours, replay, version_of
from mockvllm.conformance.report import Group, as_json, as_junit, groups
from mockvllm.conformance.servers import CannotRunError

WIDTH = 240
"""Characters of each side of a difference that the table shows; --json and --junit have them all."""
SHOWN = 20

app = console.new_app("Replay recordings of the real vLLM, and report what differs.")


@dataclass(frozen=True, slots=True)
class Asked:
    """Which cases are asked, of whom, and what is expected."""

    cases: Sequence[Case]
    servers: Servers
    live: Live | None


@app.command()
def conform(
    recordings: Annotated[Path, typer.Option(metavar="DIR", help="recorded exchanges: VERSION/GROUP/CASE.json")],
    url: Annotated[str | None, typer.Option(help="the server that is judged; without it ours is started")] = None,
    live: Annotated[str | None, typer.Option(metavar="URL", help="a real vLLM: its answers are expected")] = None,
    version: Annotated[
        str | None, typer.Option(help="of the recordings, as 0.33; else the live server's, or that at --url, or all")
    ] = None,
    group: Annotated[list[str] | None, typer.Option(help="only this group; may be repeated")] = None,
    case: Annotated[list[str] | None, typer.Option(help="only this case; may be repeated")] = None,
    model: Annotated[
        Path | None, typer.Option(metavar="DIR", help="config and tokenizer of the recorded model; else DIR/../model")
    ] = None,
    flags: Annotated[
        str,
        typer.Option(help="what the server at --url or --live was started with beyond the recordings' common flags"),
    ] = "",
    shapes: Annotated[
        bool, typer.Option("--shapes", help="another model speaks: compare keys and types of bodies")
    ] = False,
    junit: Annotated[Path | None, typer.Option(metavar="FILE", help="write JUnit XML")] = None,
    as_json: JSON = False,
) -> None:
    """Exit 0: all equal; 1: something differs; 2: it could not run."""
    asked = _asked(recordings, url, live, version, model, flags)
    cases = selection.of_names(asked.cases, group or (), case or ())
    found = groups(_watched(replay(cases, asked.servers, live=asked.live, by_shape=shapes), len(cases)))
    if junit is not None:
        _write(junit, as_junit(found))
    _print(found, as_json)
    raise typer.Exit(int(any(group.equal < len(group.results) for group in found)))


def main(argv: Sequence[str]) -> int:
    return console.run(app, argv, "conform")


def _asked(
    recordings: Path, url: str | None, live: str | None, version: str | None, model: Path | None, flags: str
) -> Asked:
    """Raises CannotRunError when there is nothing to ask, or nobody."""
    cases = read(recordings) if recordings.is_dir() else []
    if not cases:
        raise CannotRunError(f"--recordings {recordings}: no recorded exchanges there")
    expected = Live(live, version_of(live)) if live else None
    if (url or live) and version is None:
        version = expected.version if expected else version_of(str(url))
    chosen = selection.of_version(cases, version) if version else cases
    if url or live:
        chosen = selection.of_flags(chosen, shlex.split(flags))
    if not chosen:
        raise CannotRunError(f"--flags {flags!r}: no recordings of a server with these")
    return Asked(chosen, at(url) if url else ours(_model(model or recordings.parent / "model")), expected)


def _model(directory: Path) -> Path:
    if not (directory / "config.json").is_file():
        raise CannotRunError(f"--model {directory}: no config.json of the recorded model there")
    return directory


def _write(file: Path, text: str) -> None:
    try:
        file.write_text(text, "utf-8")
    except OSError as error:
        raise CannotRunError(f"--junit {file}: {error.strerror}") from None


def _watched(results: Iterable[Result], total: int) -> Iterator[Result]:
    """A bar on a terminal; elsewhere nothing."""
    from rich.console import Console
    from rich.progress import track

    return iter(
        track(results, "", total, transient=True, console=Console(stderr=True), disable=not sys.stderr.isatty())
    )


def _print(found: Sequence[Group], machine: bool) -> None:
    if machine:
        print_json(as_json(found))
        return
    print_table("", ("group", "cases", "equal", "different"), (_row(group) for group in found))
    differing = [result for group in found for result in group.results if result.difference]
    for result in islice(differing, SHOWN):
        print("\n".join(_lines(result)))
    if len(differing) > SHOWN:
        print(f"... and {len(differing) - SHOWN} more: --json has them all")
    total = sum(len(group.results) for group in found)
    print(f"{total - len(differing)} of {total} cases equal")


def _row(group: Group) -> tuple[str, ...]:
    total = len(group.results)
    return f"{group.version} {group.name}", str(total), str(group.equal), str(total - group.equal)


def _lines(result: Result) -> Iterator[str]:
    if result.difference is not None:
        yield f"{result.case.version} {result.case.group}/{result.case.name}: {result.difference.what}"
        for side, text in (("expected", result.difference.expected), ("got", result.difference.got)):
            yield f"  {side:8} {text[:WIDTH]!r}"
