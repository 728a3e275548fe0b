"""What the typer commands share: how they are run, how numbers are read, how results are printed."""

import json
import math
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from rich import box
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table

UsageError: type[typer.BadParameter] = typer.BadParameter.__mro__[1]  # also of unknown flags and missing values


def new_app(help: str) -> typer.Typer:
    return typer.Typer(help=help, add_completion=False, no_args_is_help=False, pretty_exceptions_enable=False)


def run(app: typer.Typer, argv: Sequence[str], command: str) -> int:
    """Run `app` and return its exit status. Wrong input is one line on standard error, and 2."""
    try:
        return app(args=list(argv), prog_name=f"mockvllm {command}", standalone_mode=False) or 0
    except UsageError as error:
        message = error.format_message()
    except ValueError as error:  # InputError, and what other rooms raise for wrong values
        message = str(error)
    except typer.Abort:
        return 130
    print(f"mockvllm {command}: error: {' '.join(message.split())}", file=sys.stderr)
    return 2


def positive(text: str) -> float:
    """A number above zero."""
    value = _number(text)
    if value <= 0:
        raise typer.BadParameter(f"must be a number above 0, not {text}")
    return value


def not_negative(text: str) -> float:
    value = _number(text)
    if value < 0:
        raise typer.BadParameter(f"must not be negative, but is {text}")
    return value


def whole(text: str) -> int:
    """A whole number above zero; 80e9 is one too."""
    value = _number(text)
    if value < 1 or value != int(value):
        raise typer.BadParameter(f"must be a positive whole number, not {text}")
    return int(value)


def whole_or_zero(text: str) -> int:
    value = _number(text)
    if value < 0 or value != int(value):
        raise typer.BadParameter(f"must be a whole number and not negative, not {text}")
    return int(value)


def option(read: Callable[[str], Any], help: str = "", metavar: str = "N") -> Any:
    """An option whose text `read` turns into its value."""
    return typer.Option(parser=read, metavar=metavar, help=help)


JSON = Annotated[bool, typer.Option("--json", help="print JSON")]
PLOT = Annotated[Path | None, typer.Option(metavar="FILE", help="save a picture (png, svg, pdf)")]

T = TypeVar("T")


def list_of(read: Callable[[str], T], text: str, flag: str) -> list[T]:
    """Values with commas between them; an error names the flag."""
    try:
        return [read(item.strip()) for item in text.split(",")]
    except typer.BadParameter as error:
        raise typer.BadParameter(f"{error} (in {text})", param_hint=f"'{flag}'") from None


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise typer.BadParameter(f"must be a number, not {text}")
    return value


def print_json(value: Any) -> None:
    print(json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False))


def print_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]], notes: Iterable[str] = ()) -> None:
    """The first column is text, the others are figures."""
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    for index, column in enumerate(columns):
        table.add_column(column, justify="right" if index else "left", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    console = Console(highlight=False)
    wide = console.options.update(width=1000)
    console.width = max(console.width, Measurement.get(console, wide, table).maximum)  # figures are never cut
    console.print(table)
    for note in notes:
        print(note)
