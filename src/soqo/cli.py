"""The ``soqo`` command (extra ``lab``); every subcommand calls a public function."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

try:
    import typer
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
    from rich.table import Table
except ImportError as error:
    raise SystemExit(f'the soqo command needs more: pip install "soqo[lab]" ({error})') from error

from soqo.errors import SoqoError
from soqo.experiments.runner import Outcome
from soqo.experiments.runner import reproduce as run_setting
from soqo.experiments.settings import SETTINGS, Setting
from soqo.experiments.settings import setting as find_setting
from soqo.version import __version__

__all__ = ["app", "main"]

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Smoothed online quadratic optimization: reproduce the SCaLE paper's experiments.",
)


def show_version(wanted: bool) -> None:
    """Print the version and leave."""
    if wanted:
        typer.echo(f"soqo {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=show_version, is_eager=True, help="Say which.")
    ] = False,
) -> None:
    """Options of the command itself."""


@app.command("list")
def list_settings() -> None:
    """List the figures that can be reproduced."""
    table = Table("figure", "what it shows", "where in the paper", box=None)
    for setting in SETTINGS:
        table.add_row(setting.name, setting.title, setting.source)
    Console().print(table)


@app.command()
def reproduce(
    figures: Annotated[
        list[str] | None, typer.Argument(help="Which figures; all of them if none is named.")
    ] = None,
    out: Annotated[Path, typer.Option(help="The folder for the results.")] = Path("results"),
    runs: Annotated[int | None, typer.Option(help="Runs, in place of each figure's own.")] = None,
    seed: Annotated[int, typer.Option(help="The seed of everything random.")] = 0,
) -> None:
    """Reproduce figures of the paper: simulate, print a table, and write figures and numbers to a folder."""
    console = Console()
    for setting in [find_setting(name) for name in figures] if figures else SETTINGS:
        report(console, setting, simulate_with_bar(console, setting, out, runs, seed))


def simulate_with_bar(
    console: Console, setting: Setting, out: Path, runs: int | None, seed: int
) -> Outcome:
    """Run a setting under a progress bar; silent where the output is not a terminal."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %"),
        TimeRemainingColumn(),
    )
    quiet = not console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=quiet) as bar:
        task = bar.add_task(setting.name)

        def advance(done: int, total: int, name: str) -> None:
            bar.update(task, completed=done, total=total, description=f"{setting.name}: {name}")

        return run_setting(setting, out, runs=runs, seed=seed, progress=advance)


def report(console: Console, setting: Setting, outcome: Outcome) -> None:
    """Say what came of a setting, and where it is."""
    console.print(setting.title, style="bold", highlight=False)
    console.print(f"regret against LAI after {outcome.result.horizon} rounds:\n", highlight=False)
    console.print(str(outcome.summary), soft_wrap=True, highlight=False)
    console.print(f"\nreading: {setting.reading}\n", highlight=False)
    for file in outcome.files:
        console.print(f"wrote {file}", soft_wrap=True, highlight=False)


def main() -> None:
    """Run the command; errors that soqo raises on purpose, or that files bring about, become one line."""
    try:
        app()
    except (SoqoError, OSError) as error:
        Console(stderr=True).print(f"soqo: {error}", style="red", soft_wrap=True, markup=False)
        sys.exit(2)
