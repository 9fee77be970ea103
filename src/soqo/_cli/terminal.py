"""What all commands share: text on stdout, one line for an error, progress on stderr, and numbers in options."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from soqo._foundation.text import printable
from soqo.errors import ArgumentError
from soqo.experiments import CellProgress

_N = TypeVar("_N", int, float)


def print_text(text: str) -> None:
    """Print lines on stdout unchanged, whatever the width of the terminal."""
    typer.echo(printable(text))


def print_error(message: str) -> None:
    """Print one line on stderr."""
    line = printable(" ".join(f"soqo: {message}".split()))
    Console(stderr=True).print(line, style="red", soft_wrap=True, markup=False, highlight=False)


def format_table(rows: list[list[str]], *, right: bool = False) -> str:
    """Return rows of cells as lines with aligned columns."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    align = str.rjust if right else str.ljust
    return "\n".join(
        "  ".join(align(cell, width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def parse_numbers(option: str, text: str, kind: Callable[[str], _N]) -> list[_N]:
    """Parse numbers that are separated by commas."""
    try:
        return [kind(part) for part in text.split(",")]
    except ValueError:
        what = "whole numbers" if kind is int else "numbers"
        raise ArgumentError(f"{option} must be {what} separated by commas, got {text!r}") from None


@contextmanager
def show_cells() -> Iterator[Callable[[CellProgress], None]]:
    """Show a progress bar on a terminal, or else print a line for each cell; both on stderr."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda cell: print(_format_cell(cell), file=sys.stderr, flush=True)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    # Cells take long: the remaining time is estimated from the last ten minutes.
    with Progress(*columns, console=console, transient=True, speed_estimate_period=600.0) as bar:
        task = bar.add_task("cells", total=None)

        def advance(cell: CellProgress) -> None:
            if cell.kept:  # stored cells come at once, and must not enter the estimate
                bar.reset(task, total=cell.total, completed=cell.done)
            bar.update(task, total=cell.total, completed=cell.done, description=f"cells ({cell.setting})")

        yield advance


def _format_cell(cell: CellProgress) -> str:
    """Format a finished cell for programs that read the output."""
    return (
        f"cell done={cell.done} total={cell.total} setting={shlex.quote(cell.setting)} horizon={cell.horizon} "
        f"first_run={cell.first_run} runs={cell.runs} policies={cell.policies} "
        f"kept={'yes' if cell.kept else 'no'} seconds={cell.seconds:.1f}"
    )


@contextmanager
def show_rounds(name: str) -> Iterator[Callable[[int, int, str], None]]:
    """Show a progress bar on stderr if that is a terminal."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
    hidden = not console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=hidden) as bar:
        task = bar.add_task(name)
        yield lambda done, total, name: bar.update(task, completed=done, total=total, description=name)
