"""Commands for experiments: the figures of the paper, settings of your own, bounds, and estimates from data."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, cast

import numpy as np
import typer

from soqo import experiments
from soqo._cli.terminal import format_table, parse_numbers, print_text, show_cells, show_rounds
from soqo.errors import ArgumentError
from soqo.experiments import METHODS, Fit, Judgment, Outcome, Report, Setting
from soqo.experiments.settings import KNOWN_ARGUMENTS, REQUIRED, describe_setting

_MAX_CASES = 2
"""The settings whose numbers are printed for a claim, those that decide it first; claims.csv has all."""

_MAX_TABLES = 4
"""The tables of up to this number of settings are printed; otherwise they are only in the report."""

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


def add_commands(app: typer.Typer) -> None:
    """Add the commands of this module."""
    for name, command, example in (
        ("reproduce", reproduce, "soqo reproduce primary --quick"),
        ("list", list_settings, "soqo list"),
        ("simulate", simulate, "soqo simulate mine.toml --runs 20 --out results"),
        ("tune", tune, "soqo tune mine.toml --values 1,2,4,8"),
        ("bounds", bounds, "soqo bounds mine.toml --horizons 200,400,800"),
        ("estimate", estimate, "soqo estimate readings.csv --method least_squares"),
        ("policies", list_policies, "soqo policies"),
    ):
        app.command(name, epilog=f"Example: {example}", rich_help_panel="Experiments")(command)


def _complete_figures(incomplete: str) -> list[str]:
    """Return the figures and panels whose names begin with a text, for the shell."""
    names = [*experiments.figures(), *(setting.name for setting in experiments.catalogue())]
    return [name for name in dict.fromkeys(names) if name.startswith(incomplete)]


# ---- simulations ---------------------------------------------------------------------------------------------------


def reproduce(
    figures: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[FIGURE]...",
            help="Figures or panels of the paper, as soqo list names them; all by default.",
            autocompletion=_complete_figures,
        ),
    ] = None,
    out: _Out = Path("results"),
    runs: _Runs = None,
    quick: Annotated[bool, typer.Option("--quick", help="Few and short runs, for a first look.")] = False,
    workers: _Workers = None,
    scheduler: _Scheduler = None,
) -> None:
    """Reproduce figures of the paper, and say which of its claims hold.

    Writes a page with figures and tables. You can stop the command at any time; the same command resumes.
    """
    chosen = {setting.name: setting for name in figures or () for setting in experiments.find(name)}
    settings = list(chosen.values()) if figures else list(experiments.catalogue())
    report = _simulate_settings(settings, out, runs, quick, workers, scheduler)
    if len(report.outcomes) <= _MAX_TABLES:
        _print_tables(report.outcomes)
    if report.judgment is not None:
        _print_claims(report.judgment)
        if quick:
            print_text(f"Verdicts of {min(one.runs for one in report.outcomes)} runs are provisional.")
    print_text(f"report: {report.index}")


def simulate(
    spec: _Spec,
    out: _Out = Path("results"),
    runs: _Runs = None,
    workers: _Workers = None,
    scheduler: _Scheduler = None,
) -> None:
    """Simulate settings of your own.

    docs/reference/settings-files.md describes the file. You can stop the command at any time; the same command resumes.
    """
    report = _simulate_settings(experiments.read_settings(spec), out, runs, False, workers, scheduler)
    _print_tables(report.outcomes)
    print_text(f"report: {report.index}")


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
    with show_cells() as progress:
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
        print_text(f"{setting.name}: {setting.title}")
        print_text(f"regret against LAI after {setting.horizon} rounds, {outcome.runs} runs:\n")
        print_text(f"{outcome.summary()}\n")


def _print_claims(judgment: Judgment) -> None:
    """Print the finding, every claim with its verdict and numbers, and what each part of the paper says together."""
    if judgment.headline:
        print_text(judgment.headline)
    print_text(f"{judgment.finding}\n")
    for section in judgment.sections:
        if not section.claims:
            continue
        print_text(f"{section.title}: {section.summary}")
        for name in section.claims:
            claim = judgment.claim(name)
            kind = f" [{claim.kind}]" if claim.kind in ("implied", "part") else ""
            print_text(f"  {claim.text}{kind}\n    {claim.summary}")
            if claim.note:
                print_text(f"    {claim.note}")
            for label, verdict in (("to the letter", claim.literal), ("at best", claim.charitable)):
                if verdict is not None and (label == "to the letter" or verdict is not claim.literal):
                    for case in verdict.decisive[:_MAX_CASES]:
                        shown = "; ".join(map(str, case.numbers[:2]))
                        where = describe_setting(case.setting)
                        print_text(f"    {label}, {where}: {claim.word(case.status)}, {shown}")
        print_text("")
    for claim in judgment.claims:
        if claim.untestable:
            print_text(f"{claim.text}\n    {claim.summary}")
    if untested := sum(not claim.verdicts and not claim.untestable for claim in judgment.claims):
        print_text(f"{experiments.Status.UNTESTED}: {untested} claims, which need other settings\n")


# ---- listings ------------------------------------------------------------------------------------------------------


def list_settings() -> None:
    """List the figures that can be reproduced, and their panels."""
    rows = [["figure", "panel", "what it shows", "where in the paper"]]
    for figure, settings in experiments.figures().items():
        for index, setting in enumerate(settings):
            rows.append(["" if index else figure, setting.name, setting.title, setting.source])
    print_text(format_table(rows))


def list_policies() -> None:
    """List the policies that a settings file can name, and their arguments."""
    for constructor in experiments.policy_constructors().values():
        print_text(f"{constructor.name}: {constructor.summary}")
        for name, default in constructor.arguments.items():
            value = "must be given" if default is REQUIRED else repr(default)
            print_text(f"    {name}: {KNOWN_ARGUMENTS.get(name, value)}")
    print_text("module:Class: A policy of your own, from a module that Python can import or that is beside the file.")


# ---- parameters and data -------------------------------------------------------------------------------------------


def tune(
    spec: _Spec,
    parameter: Annotated[str, typer.Option(help="A numeric argument of policies.")] = "c1",
    values: Annotated[str, typer.Option(help="The values to try, increasing.")] = "0.7,1,1.5,2,2.5,3,4,5,7,10",
    horizon: Annotated[int | None, typer.Option(help="The number of rounds, instead of the setting's own.")] = None,
    runs: _Runs = None,
    out: _Folder = None,
) -> None:
    """Find the c1 of SCaLE and HySCaLE with the least regret."""
    grid = parse_numbers("--values", values, float)
    for setting in experiments.read_settings(spec):
        with show_rounds(setting.name) as progress:
            found = experiments.tune(setting, parameter, values=grid, horizon=horizon, runs=runs, progress=progress)
        _print_found(setting, str(found), found.save(out) if out is not None else [])


def bounds(
    spec: _Spec,
    horizons: Annotated[
        str | None, typer.Option(help="Increasing horizons such as 200,400,800, instead of each setting's own.")
    ] = None,
    runs: _Runs = None,
    out: _Folder = None,
) -> None:
    """Compare SCaLE's simulated regret with its exact expectation and with every bound on it."""
    chosen = None if horizons is None else parse_numbers("--horizons", horizons, int)
    for setting in experiments.read_settings(spec):
        with show_rounds(setting.name) as progress:
            found = experiments.bound_setting(setting, chosen, runs=runs, progress=progress)
        files = experiments.save_bounds(found, out) if out is not None else []
        _print_found(setting, experiments.format_bounds(found), files)


def _print_found(setting: Setting, text: str, files: Sequence[Path]) -> None:
    print_text(f"{setting.name}: {setting.title}\n\n{text}\n")
    for path in files:
        print_text(f"wrote {path}")


def estimate(
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
    print_text(f"{found.method} from {readings} readings\n\n" + "\n".join(rows) + "\n")
    print_text(f"status: {result.message}")
    if found.radius is not None:
        print_text(f"radius: {found.radius:.6g}")
    print_text(f"trace: {float(np.trace(result.matrix)):.6g}")
    print_text(f"residual: {result.residual:.6g}")
    print_text(f"rank: {result.rank}")
    if np.isfinite(result.gap):
        print_text(f"gap: {result.gap:.3g}")
    print_text(f"certificate: {found.bounded} is at least {found.bound:.9g}, recomputed from the multipliers")
