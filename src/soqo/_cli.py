"""The ``soqo`` command (extra ``lab``); every subcommand calls a public function of :mod:`soqo.experiments`."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, TypeVar, cast

try:
    import typer
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
except ImportError as error:
    raise SystemExit(f'the soqo command needs the extra lab: pip install "soqo[lab]" ({error})') from error

import numpy as np

from soqo import experiments
from soqo._version import __version__
from soqo.errors import ArgumentError, InterruptedRunError, SoqoError
from soqo.experiments import METHODS, CellProgress, Claim, Fit, Outcome, Report, Setting
from soqo.experiments.settings import KNOWN_ARGUMENTS, REQUIRED

_N = TypeVar("_N", int, float)

_MAX_TABLES = 4
"""The tables of up to this number of settings are printed; otherwise they are only in the report."""

_EXIT_INTERRUPTED = 130
"""The exit code of a command that Ctrl-C interrupted, by the convention of shells."""

app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Smoothed online quadratic optimization: reproduce the experiments of the SCaLE paper, and run your own.",
)

_Spec = Annotated[Path, typer.Argument(metavar="SPEC.toml", help="A TOML file with settings.")]
_Out = Annotated[Path, typer.Option(help="The folder for the results.")]
_Folder = Annotated[Path | None, typer.Option(help="A folder for the numbers and a picture.")]
_Runs = Annotated[int | None, typer.Option(help="The number of runs, instead of each setting's own.")]
_Workers = Annotated[
    int | None,
    typer.Option(help="The number of processes on this machine; by default one per processor."),
]
_Scheduler = Annotated[
    str | None,
    typer.Option(metavar="ADDRESS", help="The address of a Dask scheduler whose workers compute instead."),
]


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"soqo {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Accept the options of the command itself."""


# ---- simulations ---------------------------------------------------------------------------------------------------


@app.command("reproduce")
def _reproduce(
    figures: Annotated[
        list[str] | None,
        typer.Argument(metavar="[FIGURE]...", help="Figures or panels of the paper; all by default."),
    ] = None,
    out: _Out = Path("results"),
    runs: _Runs = None,
    quick: Annotated[bool, typer.Option("--quick", help="Few and short runs, for a first look.")] = False,
    workers: _Workers = None,
    scheduler: _Scheduler = None,
) -> None:
    """Reproduce figures of the paper's numerical section, and judge its claims."""
    chosen = {setting.name: setting for name in figures or () for setting in experiments.find(name)}
    settings = list(chosen.values()) if figures else list(experiments.catalogue())
    report = _simulate_settings(settings, out, runs, quick, workers, scheduler)
    if len(report.outcomes) <= _MAX_TABLES:
        _print_tables(report.outcomes)
    _print_claims(report.claims)
    _print(f"report: {report.index}")


@app.command("simulate")
def _simulate(
    spec: _Spec,
    out: _Out = Path("results"),
    runs: _Runs = None,
    workers: _Workers = None,
    scheduler: _Scheduler = None,
) -> None:
    """Simulate the settings in a file of your own, in the format of the paper's."""
    report = _simulate_settings(experiments.read_settings(spec), out, runs, False, workers, scheduler)
    _print_tables(report.outcomes)
    _print(f"report: {report.index}")


def _simulate_settings(
    settings: Sequence[Setting],
    out: Path,
    runs: int | None,
    quick: bool,
    workers: int | None,
    scheduler: str | None,
) -> Report:
    """Simulate settings, and show the progress."""
    if workers is not None and scheduler is not None:
        raise ArgumentError("--workers and --scheduler exclude each other")
    with _show_cells() as progress:
        return experiments.reproduce(
            settings,
            out,
            runs=runs,
            quick=quick,
            workers=workers,
            scheduler=scheduler,
            progress=progress,
            command=shlex.join(["soqo", *sys.argv[1:]]),
        )


def _print_tables(outcomes: Sequence[Outcome]) -> None:
    for outcome in outcomes:
        setting = outcome.setting
        _print(f"{setting.name}: {setting.title}")
        _print(f"regret against LAI after {setting.horizon} rounds, {outcome.runs} runs:\n")
        _print(f"{outcome.summary()}\n")


def _print_claims(claims: Sequence[Claim]) -> None:
    """Print verdicts and numbers, and the number of claims that were not tested."""
    tested = [claim for claim in claims if claim.verdict != experiments.UNTESTED]
    for claim in tested:
        number = f" ({claim.number})" if claim.number else ""
        _print(f"{claim.verdict}: {claim.text}{number}; {claim.source}")
    if untested := len(claims) - len(tested):
        _print(f"{experiments.UNTESTED}: {untested} claims, which need other settings")


@contextmanager
def _show_cells() -> Iterator[Callable[[CellProgress], None]]:
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
        f"first_run={cell.first_run} runs={cell.runs} kept={'yes' if cell.kept else 'no'} seconds={cell.seconds:.1f}"
    )


# ---- listings ------------------------------------------------------------------------------------------------------


@app.command("list")
def _list_settings() -> None:
    """List the figures that can be reproduced, and their panels."""
    rows = [["figure", "panel", "what it shows", "where in the paper"]]
    for figure, settings in experiments.figures().items():
        for index, setting in enumerate(settings):
            rows.append(["" if index else figure, setting.name, setting.title, setting.source])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        _print("  ".join(cells).rstrip())


@app.command("policies")
def _list_policies() -> None:
    """List the policies that a settings file can name, and their arguments."""
    for constructor in experiments.policy_constructors().values():
        _print(f"{constructor.name}: {constructor.summary}")
        for name, default in constructor.arguments.items():
            value = "must be given" if default is REQUIRED else repr(default)
            _print(f"    {name}: {KNOWN_ARGUMENTS.get(name, value)}")
    _print("module:Class: A policy of your own, from a module that Python can import or that is beside the file.")


# ---- parameters and data -------------------------------------------------------------------------------------------


@app.command("tune")
def _tune(
    spec: _Spec,
    parameter: Annotated[str, typer.Option(help="A numeric argument of policies.")] = "c1",
    values: Annotated[str, typer.Option(help="The values to try, increasing.")] = "0.7,1,1.5,2,2.5,3,4,5,7,10",
    horizon: Annotated[int | None, typer.Option(help="The number of rounds, instead of the setting's own.")] = None,
    runs: _Runs = None,
    out: _Folder = None,
) -> None:
    """Find the c1 of SCaLE and HySCaLE with the least regret."""
    grid = _parse_numbers("--values", values, float)
    for setting in experiments.read_settings(spec):
        with _show_rounds(setting.name) as progress:
            found = experiments.tune(setting, parameter, values=grid, horizon=horizon, runs=runs, progress=progress)
        _print_found(setting, str(found), found.save(out) if out is not None else [])


@app.command("bounds")
def _bounds(
    spec: _Spec,
    horizons: Annotated[
        str | None, typer.Option(help="Increasing horizons such as 200,400,800, instead of each setting's own.")
    ] = None,
    runs: _Runs = None,
    out: _Folder = None,
) -> None:
    """Compare SCaLE's simulated regret with its exact expectation and with every bound on it."""
    chosen = None if horizons is None else _parse_numbers("--horizons", horizons, int)
    for setting in experiments.read_settings(spec):
        with _show_rounds(setting.name) as progress:
            found = experiments.bound_setting(setting, chosen, runs=runs, progress=progress)
        files = experiments.save_bounds(found, out) if out is not None else []
        _print_found(setting, experiments.format_bounds(found), files)


@contextmanager
def _show_rounds(name: str) -> Iterator[Callable[[int, int, str], None]]:
    """Show a progress bar on stderr if that is a terminal."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
    hidden = not console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=hidden) as bar:
        task = bar.add_task(name)
        yield lambda done, total, name: bar.update(task, completed=done, total=total, description=name)


def _print_found(setting: Setting, text: str, files: Sequence[Path]) -> None:
    _print(f"{setting.name}: {setting.title}\n\n{text}\n")
    for path in files:
        _print(f"wrote {path}")


def _parse_numbers(option: str, text: str, kind: Callable[[str], _N]) -> list[_N]:
    """Parse numbers that are separated by commas."""
    try:
        return [kind(part) for part in text.split(",")]
    except ValueError:
        what = "whole numbers" if kind is int else "numbers"
        raise ArgumentError(f"{option} must be {what} separated by commas, got {text!r}") from None


@app.command("estimate")
def _estimate(
    data: Annotated[Path, typer.Argument(metavar="DATA.csv", help="A CSV file with columns z1, ..., zd, y.")],
    radius: Annotated[
        float | None, typer.Option(help="The radius of trace_min; by default 1.05 times the smallest feasible one.")
    ] = None,
    method: Annotated[str, typer.Option(help=f"One of {', '.join(METHODS)}.")] = METHODS[0],
) -> None:
    """Estimate A from readings y of about 1/2 z'Az, with a certificate of the estimate's quality."""
    Z, y = experiments.read_readings(data)
    _print_fit(experiments.fit(Z, y, method=cast(Any, method), radius=radius), y.size)


def _print_fit(found: Fit, readings: int) -> None:
    """Print an estimate, its quality and its certificate."""
    result = found.estimate
    cells = [[f"{value:.6g}" for value in row] for row in result.matrix.tolist()]
    width = max(len(cell) for row in cells for cell in row)
    rows = ["  ".join(cell.rjust(width) for cell in row) for row in cells]
    _print(f"{found.method} from {readings} readings\n\n" + "\n".join(rows) + "\n")
    _print(f"status: {result.message}")
    if found.radius is not None:
        _print(f"radius: {found.radius:.6g}")
    _print(f"trace: {float(np.trace(result.matrix)):.6g}")
    _print(f"residual: {result.residual:.6g}")
    _print(f"rank: {result.rank}")
    if np.isfinite(result.gap):
        _print(f"gap: {result.gap:.3g}")
    _print(f"certificate: {found.bounded} is at least {found.bound:.9g}, recomputed from the multipliers")


# ---- the command ---------------------------------------------------------------------------------------------------


def _print(text: str) -> None:
    """Print lines on stdout unchanged, whatever the width of the terminal."""
    typer.echo(text)


def main() -> None:
    """Run the command; an error in arguments or files is printed as one line."""
    try:
        code = app(sys.argv[1:] or ["--help"], standalone_mode=False)
    except (InterruptedRunError, KeyboardInterrupt, typer.Abort) as error:
        _print_error(str(error) or "interrupted")
        sys.exit(_EXIT_INTERRUPTED)
    except SoqoError as error:
        _print_error(str(error))
        sys.exit(2)
    except OSError as error:
        named = error.filename is not None and error.strerror is not None
        _print_error(f"{error.filename}: {error.strerror}" if named else str(error))
        sys.exit(2)
    except MemoryError:
        _print_error("out of memory: fewer or shorter runs need less")
        sys.exit(2)
    except Exception as error:
        # Typer's own errors have no common base class that all its versions export.
        message = getattr(error, "format_message", None)
        if message is None:
            raise
        _print_error(message())
        sys.exit(2)
    if code == _EXIT_INTERRUPTED:
        _print_error("interrupted")
    sys.exit(code if isinstance(code, int) else 0)


def _print_error(message: str) -> None:
    """Print one line on stderr."""
    line = " ".join(f"soqo: {message}".split())
    Console(stderr=True).print(line, style="red", soft_wrap=True, markup=False, highlight=False)
