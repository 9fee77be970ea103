"""The ``soqo`` command (extra ``lab``); every subcommand calls a public function."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, TypeVar

try:
    import typer
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.progress import TimeRemainingColumn as TimeLeftColumn
except ImportError as error:
    raise SystemExit(f'the soqo command needs more: pip install "soqo[lab]" ({error})') from error

import numpy as np

from soqo._version import __version__
from soqo.errors import ArgumentError, SoqoError
from soqo.experiments import _reproduce as runner
from soqo.experiments._bounds import bound_setting
from soqo.experiments._fit import METHODS, Fit, fit, read_readings
from soqo.experiments._tune import Tuning
from soqo.experiments._tune import tune as tune_setting
from soqo.experiments.execution._engine import Stopped, Tick
from soqo.experiments.execution._outcome import Outcome
from soqo.experiments.judgment import UNTESTED, Claim
from soqo.experiments.presentation._bounds_table import BoundsTable
from soqo.experiments.settings._catalogue import catalogue, find
from soqo.experiments.settings._catalogue import figures as figures_of_the_paper
from soqo.experiments.settings._kinds import REQUIRED, TOLD, policy_kinds
from soqo.experiments.settings._spec import Setting, read_settings

__all__ = ["app", "main"]

N = TypeVar("N", int, float)

FEW = 4
"""Up to so many settings are shown with their tables; those of more are in the report."""

INTERRUPTED = 130
"""The exit code of a command that Ctrl-C stopped, by the custom of shells."""

app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Smoothed online quadratic optimization: reproduce the SCaLE paper's experiments, and run your own.",
)

Spec = Annotated[Path, typer.Argument(metavar="SPEC.toml", help="Settings in a file.")]
Out = Annotated[Path, typer.Option(help="The folder for the results.")]
Folder = Annotated[Path | None, typer.Option(help="A folder for numbers and pictures.")]
Runs = Annotated[int | None, typer.Option(help="Runs, in place of each setting's own.")]
Workers = Annotated[
    int | None,
    typer.Option(help="Processes on this machine; as many as it has processors if not given."),
]
Scheduler = Annotated[
    str | None,
    typer.Option(metavar="ADDRESS", help="A Dask scheduler whose workers do the work instead."),
]


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


# ---- simulations ---------------------------------------------------------------------------------------------------


@app.command()
def reproduce(
    figures: Annotated[
        list[str] | None,
        typer.Argument(metavar="[FIGURE]...", help="Figures or panels; all of them if none is named."),
    ] = None,
    out: Out = Path("results"),
    runs: Runs = None,
    quick: Annotated[bool, typer.Option("--quick", help="Few and short runs, for a first look.")] = False,
    workers: Workers = None,
    scheduler: Scheduler = None,
) -> None:
    """Regenerate figures of the paper's numerical section, and judge its claims."""
    chosen = {s.name: s for name in figures or () for s in find(name)}
    settings = list(chosen.values()) if figures else list(catalogue())
    report = simulated(settings, out, runs, quick, workers, scheduler)
    if len(report.outcomes) <= FEW:
        show_tables(report.outcomes)
    show_claims(report.claims)
    say(f"report: {report.index}")


@app.command()
def simulate(
    spec: Spec,
    out: Out = Path("results"),
    runs: Runs = None,
    workers: Workers = None,
    scheduler: Scheduler = None,
) -> None:
    """Run the settings in a file of your own, in the format of the paper's."""
    report = simulated(read_settings(spec), out, runs, False, workers, scheduler)
    show_tables(report.outcomes)
    say(f"report: {report.index}")


def simulated(
    settings: Sequence[Setting],
    out: Path,
    runs: int | None,
    quick: bool,
    workers: int | None,
    scheduler: str | None,
) -> runner.Report:
    """Run settings, and show how far it is."""
    if workers is not None and scheduler is not None:
        raise ArgumentError("--workers and --scheduler exclude each other")
    with cell_progress() as progress:
        return runner.reproduce(
            settings,
            out,
            runs=runs,
            quick=quick,
            workers=workers,
            scheduler=scheduler,
            progress=progress,
            command=shlex.join(["soqo", *sys.argv[1:]]),
        )


def show_tables(outcomes: Sequence[Outcome]) -> None:
    """The summary of each setting."""
    for outcome in outcomes:
        setting = outcome.setting
        say(f"{setting.name}: {setting.title}")
        say(f"regret against LAI after {setting.horizon} rounds, {outcome.runs} runs:\n")
        say(f"{outcome.summary()}\n")


def show_claims(claims: Sequence[Claim]) -> None:
    """Verdicts and numbers; of claims that other settings would test, how many there are."""
    tested = [claim for claim in claims if claim.verdict != UNTESTED]
    for claim in tested:
        number = f" ({claim.number})" if claim.number else ""
        say(f"{claim.verdict}: {claim.text}{number}; {claim.source}")
    if untested := len(claims) - len(tested):
        say(f"{UNTESTED}: {untested} claims, which need other settings")


@contextmanager
def cell_progress() -> Iterator[Callable[[Tick], None]]:
    """On a terminal a bar, otherwise a line for each cell; both on stderr."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda tick: print(cell_line(tick), file=sys.stderr, flush=True)
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeLeftColumn(),
    )
    # Cells take long: the time left is guessed from those of the last ten minutes.
    with Progress(*columns, console=console, transient=True, speed_estimate_period=600.0) as bar:
        task = bar.add_task("cells", total=None)

        def advance(tick: Tick) -> None:
            if tick.kept:  # these come at once, and say nothing about the time left
                bar.reset(task, total=tick.total, completed=tick.done)
            bar.update(task, total=tick.total, completed=tick.done, description=f"cells ({tick.setting})")

        yield advance


def cell_line(tick: Tick) -> str:
    """A cell that is done, for programs to read."""
    return (
        f"cell done={tick.done} total={tick.total} setting={shlex.quote(tick.setting)} horizon={tick.horizon} "
        f"first_run={tick.first_run} runs={tick.runs} kept={'yes' if tick.kept else 'no'} seconds={tick.seconds:.1f}"
    )


# ---- what there is -------------------------------------------------------------------------------------------------


@app.command("list")
def list_settings() -> None:
    """List the figures that can be reproduced, and their panels."""
    rows = [["figure", "panel", "what it shows", "where in the paper"]]
    for figure, settings in figures_of_the_paper().items():
        for index, setting in enumerate(settings):
            rows.append(
                ["" if index else figure, setting.name, setting.title, setting.source],
            )
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        say("  ".join(cells).rstrip())


@app.command()
def policies() -> None:
    """List the policies that a file of settings can name, and their arguments."""
    for kind in policy_kinds():
        say(f"{kind.name}: {kind.summary}")
        for name, default in kind.arguments.items():
            value = "must be given" if default is REQUIRED else repr(default)
            say(f"    {name}: {TOLD.get(name, value)}")
    say("module:Class: A policy of your own, from a module that Python finds or that is beside the file.")


# ---- parameters and data -------------------------------------------------------------------------------------------


@app.command()
def tune(
    spec: Spec,
    parameter: Annotated[str, typer.Option(help="An argument of policies.")] = "c1",
    values: Annotated[str, typer.Option(help="What to try, increasing.")] = "0.7,1,1.5,2,2.5,3,4,5,7,10",
    horizon: Annotated[int | None, typer.Option(help="Rounds, in place of the setting's.")] = None,
    runs: Runs = None,
    out: Folder = None,
) -> None:
    """Find the c1 of SCaLE and HySCaLE with the least regret."""
    tried = numbers_in("--values", values, float)
    for setting in read_settings(spec):
        with round_progress(setting.name) as progress:
            found = tune_setting(setting, parameter, tried, horizon=horizon, runs=runs, progress=progress)
        show_found(setting, found, out)


@app.command()
def bounds(
    spec: Spec,
    horizons: Annotated[
        str | None, typer.Option(help="Increasing, as 200,400,800, in place of each setting's own.")
    ] = None,
    runs: Runs = None,
    out: Folder = None,
) -> None:
    """Show SCaLE's simulated regret beside its exact expectation and every bound on it."""
    wanted = None if horizons is None else numbers_in("--horizons", horizons, int)
    for setting in read_settings(spec):
        with round_progress(setting.name) as progress:
            found = bound_setting(setting, wanted, runs, progress)
        show_found(setting, found, out)


@contextmanager
def round_progress(name: str) -> Iterator[Callable[[int, int, str], None]]:
    """On a terminal a bar on stderr."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), TimeLeftColumn())
    hidden = not console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=hidden) as bar:
        task = bar.add_task(name)
        yield lambda done, total, name: bar.update(task, completed=done, total=total, description=name)


def show_found(setting: Setting, found: Tuning | BoundsTable, out: Path | None) -> None:
    """What was found for a setting, and its files if there is a folder for them."""
    say(f"{setting.name}: {setting.title}\n\n{found}\n")
    for path in found.save(out) if out is not None else ():
        say(f"wrote {path}")


def numbers_in(option: str, text: str, kind: Callable[[str], N]) -> list[N]:
    """Numbers with commas between them."""
    try:
        return [kind(part) for part in text.split(",")]
    except ValueError:
        what = "whole numbers" if kind is int else "numbers"
        raise ArgumentError(f"{option} must be {what} with commas between them, got {text!r}") from None


@app.command()
def estimate(
    data: Annotated[Path, typer.Argument(metavar="DATA.csv", help="Columns z1, ..., zd, y.")],
    radius: Annotated[float | None, typer.Option(help="Of trace_min; 1.05 times the smallest if not given.")] = None,
    method: Annotated[str, typer.Option(help=f"One of {', '.join(METHODS)}.")] = METHODS[0],
) -> None:
    """Estimate A from readings y of about 1/2 z'Az, with a proof of how good the estimate is."""
    Z, y = read_readings(data)
    show_fit(fit(Z, y, method, radius), y.size)


def show_fit(found: Fit, readings: int) -> None:
    """An estimate, how good it is, and the certificate."""
    result = found.estimate
    cells = [[f"{value:.6g}" for value in row] for row in result.matrix.tolist()]
    width = max(len(cell) for row in cells for cell in row)
    rows = ["  ".join(cell.rjust(width) for cell in row) for row in cells]
    say(f"{found.method} from {readings} readings\n\n" + "\n".join(rows) + "\n")
    say(f"status: {result.advice}")
    if found.radius is not None:
        say(f"radius: {found.radius:.6g}")
    say(f"trace: {float(np.trace(result.matrix)):.6g}")
    say(f"residual: {result.residual:.6g}")
    say(f"rank: {result.rank}")
    if np.isfinite(result.gap):
        say(f"gap: {result.gap:.3g}")
    say(f"certificate: {found.bounded} is at least {found.bound:.9g}, recomputed from the multipliers")


# ---- the command ---------------------------------------------------------------------------------------------------


def say(text: str) -> None:
    """A line, or several, on stdout: as they are, however wide the terminal is."""
    typer.echo(text)


def main() -> None:
    """Run the command; what is wrong with arguments and files becomes one line."""
    try:
        code = app(sys.argv[1:] or ["--help"], standalone_mode=False)
    except (Stopped, KeyboardInterrupt, typer.Abort) as error:
        complain(str(error) or "stopped")
        sys.exit(INTERRUPTED)
    except SoqoError as error:
        complain(str(error))
        sys.exit(2)
    except OSError as error:
        named = error.filename is not None and error.strerror is not None
        complain(f"{error.filename}: {error.strerror}" if named else str(error))
        sys.exit(2)
    except MemoryError:
        complain("the memory does not suffice: fewer runs, or shorter ones, need less")
        sys.exit(2)
    except Exception as error:
        # Typer's own errors have no common name that all its versions export.
        message = getattr(error, "format_message", None)
        if message is None:
            raise
        complain(message())
        sys.exit(2)
    if code == INTERRUPTED:
        complain("stopped")
    sys.exit(code if isinstance(code, int) else 0)


def complain(message: str) -> None:
    """One line on stderr."""
    line = " ".join(f"soqo: {message}".split())
    Console(stderr=True).print(line, style="red", soft_wrap=True, markup=False, highlight=False)
