"""`mockvllm verify-weights`: are these the weights that were released?"""

import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from mockvllm.cli import console
from mockvllm.cli.console import JSON, print_json
from mockvllm.planning.hashing import SMALL_BYTES, Progress
from mockvllm.planning.manifest import NAME, printable
from mockvllm.planning.weights import Verdict, verify

app = console.new_app("Verify a directory of weights.")


def sha256(text: str) -> str:
    if not re.fullmatch("[0-9a-fA-F]{64}", text):
        raise typer.BadParameter(f"must be 64 hexadecimal digits, not {text}")
    return text.lower()


@app.command()
def verify_weights(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help=f"holds the weights and their {NAME}")],
    manifest_sha256: Annotated[str, console.option(sha256, f"the pinned hash of {NAME} itself", "HASH")],
    allow_links_outside: Annotated[
        bool,
        typer.Option("--allow-links-outside", help="read through links that leave DIR, as in Hugging Face's cache"),
    ] = False,
    as_json: JSON = False,
) -> None:
    """Check the manifest's own hash, each file it lists, and that nothing else lies there. Exit 1 if anything fails."""
    if not directory.is_dir():
        raise typer.BadParameter(f"must be a directory, but {directory} is none", param_hint="'DIR'")
    with _progress() as start:
        verdict = verify(directory, manifest_sha256, start, allow_links_outside)
    if as_json:
        print_json(_json(verdict))
    else:
        print("\n".join(_lines(verdict)))
    raise typer.Exit(0 if verdict.ok else 1)


def main(argv: Sequence[str]) -> int:
    return console.run(app, argv, "verify-weights")


@contextmanager
def _progress() -> Iterator[Any]:
    """A bar on a terminal, for as much as takes a while; elsewhere nothing."""
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, TimeRemainingColumn, TransferSpeedColumn
    from rich.progress import Progress as Bar

    columns = BarColumn(), DownloadColumn(binary_units=False), TransferSpeedColumn(), TimeRemainingColumn()
    with Bar(*columns, console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()) as bar:

        def start(total: int) -> Progress:
            task = bar.add_task("", total=total, visible=total >= SMALL_BYTES)
            return lambda done: bar.update(task, completed=done)

        yield start


def _json(verdict: Verdict) -> dict[str, Any]:
    def names(items: Any) -> list[str]:
        return [printable(name) for name in items]

    return {
        "ok": verdict.ok,
        "manifest": verdict.manifest,
        "failed": names(verdict.failed),
        "unlisted": names(verdict.unlisted),
        "missing": names(verdict.missing),
        "unreadable": names(verdict.unreadable),
        "reasons": {printable(name): why for name, why in _reasons(verdict)},
    }


def _reasons(verdict: Verdict) -> Iterator[tuple[str, str]]:
    if not verdict.manifest:
        yield NAME, verdict.reason
    yield from verdict.failed.items()
    yield from verdict.unreadable.items()


def _lines(verdict: Verdict) -> Iterator[str]:
    yield f"{NAME}: OK" if verdict.manifest else f"{NAME}: FAILED ({verdict.reason})"
    yield from (f"{printable(name)}: FAILED ({why})" for name, why in sorted(verdict.failed.items()))
    yield from (f"{printable(name)}: missing" for name in sorted(verdict.missing))
    yield from (f"{printable(name)}: unreadable ({why})" for name, why in sorted(verdict.unreadable.items()))
    yield from (f"{printable(name)}: not in {NAME}" for name in verdict.unlisted)
    yield f"{'ok' if verdict.ok else 'NOT ok'}: {verdict.files} files read, {verdict.size / 1e9:,.3f} GB"
