"""Commands for plants: journals of controllers, logs, whether a plant is suitable, replays, and pictures."""

from __future__ import annotations

import math
import shutil
import tempfile
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from soqo._cli.command_group import CommandGroup
from soqo._cli.terminal import format_table, parse_numbers, print_text
from soqo._control.controller import Controller
from soqo._control.journal_report import inspect_journal, plot_journal
from soqo._control.log import Log
from soqo._control.replay import replay
from soqo._control.suitability import check_log
from soqo._control.timestamps import format_times
from soqo._storage.journal_format import is_journal
from soqo.errors import ArgumentError, FileFormatError
from soqo.experiments import parse_policy, policy_constructors
from soqo.experiments.presentation import save_figure


class _Theme(StrEnum):
    """The themes of pictures."""

    light = "light"
    dark = "dark"


def _complete_policies(incomplete: str) -> list[str]:
    """Return the kinds of policies whose names begin with a text, for the shell."""
    known = policy_constructors().values()
    return [kind.name for kind in known if kind.name.startswith(incomplete) and not kind.from_problem]


_Journal = Annotated[Path, typer.Argument(metavar="PATH", help="The journal of a controller, which may be in use.")]
_Log = Annotated[Path, typer.Argument(metavar="PATH", help="A journal, or a log as a CSV or Parquet file.")]
_Kind = "such as GLIDE, 'GLIDE(noise_cap=0.5)' or module:Class; soqo policies lists them."
_Vector = "a number, or numbers separated by commas, instead of the file's own."
_Start = Annotated[str | None, typer.Option("--x0", metavar="NUMBERS", help=f"The first position: {_Vector}")]
_Low = Annotated[str | None, typer.Option(metavar="NUMBERS", help=f"The lower limits: {_Vector}")]
_High = Annotated[str | None, typer.Option(metavar="NUMBERS", help=f"The upper limits: {_Vector}")]
_Rate = Annotated[str | None, typer.Option(metavar="NUMBERS", help=f"The largest steps: {_Vector}")]
_Period = Annotated[str | None, typer.Option(metavar="NUMBERS", help=f"The periods of angles: {_Vector}")]
_Weight = Annotated[str | None, typer.Option(metavar="NUMBERS", help=f"The weights of moving: {_Vector}")]


def add_commands(app: typer.Typer) -> None:
    """Add the commands of this module."""
    journal = typer.Typer(cls=CommandGroup, invoke_without_command=True)
    journal.callback()(_journal)
    for name, command, example in (
        ("show", show, "soqo journal show plant.journal --rounds 20"),
        ("check", check, "soqo journal check plant.journal"),
        ("export", export, "soqo journal export plant.journal --out log.csv"),
    ):
        journal.command(name, epilog=f"Example: {example}")(command)
    panel = "Plants"
    app.add_typer(
        journal,
        name="journal",
        help="Show, check or export the journal of a controller.",
        epilog="Example: soqo journal show plant.journal",
        rich_help_panel=panel,
    )
    for name, command, example in (
        ("check", check_plant, "soqo check log.csv --switching-weight 1,25"),
        ("replay", replay_log, "soqo replay log.csv --policy GLIDE --switching-weight 1,25"),
        ("plot", plot, "soqo plot plant.journal --out plant.png --theme dark"),
    ):
        app.command(name, epilog=f"Example: {example}", rich_help_panel=panel)(command)


# ---- journals ------------------------------------------------------------------------------------------------------


def _journal(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        print_text(context.get_help())


def show(
    path: _Journal,
    rounds: Annotated[int, typer.Option(min=0, help="The number of rounds that are listed, from the last one.")] = 10,
) -> None:
    """Show what a journal holds: the policy, its state, and the last rounds."""
    report = inspect_journal(path)
    opening = report.opening
    facts = {
        "policy": repr(opening.policy),
        "actuators": str(opening.dim),
        "rounds": f"{report.rounds}, {report.readings} with a reading",
        "size": f"{report.size} bytes; calls after the last snapshot: {report.since_snapshot}",
    }
    facts["state"], facts["health"] = _explain(path)
    settings = {
        "low": opening.low,
        "high": opening.high,
        "rate": opening.rate,
        "period": opening.period,
        "weight": opening.switching_weight,
    }
    for name, value in settings.items():
        if value is not None:
            facts[name] = str(np.asarray(value).tolist())
    print_text(format_table([[f"{name}:", value] for name, value in facts.items()]))
    if report.incomplete:
        print_text(_describe_end(report.incomplete))
    if report.rounds and rounds:
        print_text("")
        print_text(_format_rounds(Log.read(path), rounds))


def check(path: _Journal) -> None:
    """Verify every record of a journal, and that a controller can resume from it.

    The journal is not changed. If it is damaged, the command says at which byte, and the exit code is 2.
    """
    report = inspect_journal(path)
    _explain(path)
    counts = f"{report.rounds} rounds, {report.calls} calls, {report.size} bytes"
    print_text(f"{path}: can be resumed ({counts})")
    if report.incomplete:
        print_text(_describe_end(report.incomplete))


def export(
    path: _Journal,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A .csv or .parquet file; by default the journal's name with .csv."),
    ] = None,
) -> None:
    """Write the rounds of a journal to a CSV or Parquet file."""
    if not is_journal(path) and path.is_file():
        raise FileFormatError(f"{path} is not a journal")
    log = Log.read(path)
    print_text(f"wrote {log.write(path.with_suffix('.csv') if out is None else out)}: {len(log)} rounds")


def _explain(path: Path) -> tuple[str, str]:
    """Resume a copy of a journal, and say what its controller does, and how its plant is."""
    with tempfile.TemporaryDirectory() as folder:
        copy = shutil.copyfile(path, Path(folder, path.name))
        with Controller.resume(copy, durability="process") as controller:
            verdict = controller.diagnostics().get("health", {}).get("verdict", "not known")
            return controller.explain(), verdict


def _describe_end(count: int) -> str:
    return f"the last {count} bytes are an incomplete record, as a crash leaves it; a resume cuts it off"


def _format_rounds(log: Log, count: int) -> str:
    """Return the last rounds as a table."""
    labels = [str(k + 1) for k in range(log.dim)] if log.actuators is None else list(log.actuators)
    stamps = None if log.time is None else format_times(log.time)
    header = ["round", *(["time"] if stamps else []), *(f"v_{k}" for k in labels), *(f"x_{k}" for k in labels), "y"]
    rows = [header]
    for t in range(max(0, len(log) - count), len(log)):
        reading = "-" if math.isnan(log.y[t]) else f"{log.y[t]:.6g}"
        numbers = [f"{value:.6g}" for value in (*log.v[t], *log.x[t])]
        rows.append([str(t + 1), *([stamps[t]] if stamps else []), *numbers, reading])
    return format_table(rows, right=True)


# ---- logs ----------------------------------------------------------------------------------------------------------


def check_plant(
    path: _Log,
    policy: Annotated[
        str,
        typer.Option(metavar="KIND", help=f"The policy that would steer, {_Kind}", autocompletion=_complete_policies),
    ] = "GLIDE",
    x0: _Start = None,
    low: _Low = None,
    high: _High = None,
    rate: _Rate = None,
    period: _Period = None,
    switching_weight: _Weight = None,
    draws: Annotated[int, typer.Option(help="The number of draws of A, for the interval.")] = 20,
    seed: Annotated[int, typer.Option(help="The seed of the draws.")] = 0,
) -> None:
    """Say whether a plant is suitable, by a log of it, and what to do next; the exit code is 1 if it is not.

    The log needs rounds in which the plant was away from v, such as those of a controller that goes half of the way.
    """
    log = _read(path, x0, low, high, rate, period, switching_weight)
    found = check_log(log, policy=parse_policy(policy), draws=draws, seed=seed)
    print_text(str(found))
    if not found.suitable:
        raise typer.Exit(1)


def replay_log(
    path: _Log,
    policy: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KIND", help=f"A policy, {_Kind} May be given several times.", autocompletion=_complete_policies
        ),
    ] = None,
    x0: _Start = None,
    low: _Low = None,
    high: _High = None,
    rate: _Rate = None,
    period: _Period = None,
    switching_weight: _Weight = None,
    draws: Annotated[int, typer.Option(help="The number of draws of A, for the interval.")] = 40,
    seed: Annotated[int, typer.Option(help="The seed of the draws.")] = 0,
) -> None:
    """Estimate from a log what another policy would have cost, with an interval of 95 %.

    A table has the columns v_1, ..., x_1, ... and y; docs/reference/file-formats.md describes them.
    """
    policies = [parse_policy(text) for text in policy or ["GLIDE"]]
    log = _read(path, x0, low, high, rate, period, switching_weight)
    if log.switching_weight is None:
        print_text("No weight of moving is given: a step of 1 is taken to cost 1/2 (--switching-weight).")
    for one in policies:
        print_text(str(replay(one, log, draws=draws, seed=seed)))


def plot(
    path: _Log,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The picture, such as plant.png or plant.svg; by default PATH with .png."),
    ] = None,
    theme: Annotated[_Theme, typer.Option(help="The colors.")] = _Theme.light,
    policy: Annotated[
        str | None,
        typer.Option(
            metavar="KIND",
            help=f"The policy that learns from the log, {_Kind} By default the journal's own, or GLIDE.",
            autocompletion=_complete_policies,
        ),
    ] = None,
    learn: Annotated[
        bool, typer.Option("--learn/--no-learn", help="Whether a policy learns from the log; without it, it is quick.")
    ] = True,
    last: Annotated[int | None, typer.Option(min=1, metavar="ROUNDS", help="Only the last rounds.")] = None,
    x0: _Start = None,
    low: _Low = None,
    high: _High = None,
    rate: _Rate = None,
    period: _Period = None,
    switching_weight: _Weight = None,
) -> None:
    """Draw a journal or a log: positions, readings, costs, and the estimate of A."""
    target = path.with_suffix(".png") if out is None else out
    learner = None if policy is None else parse_policy(policy)
    given = (x0, low, high, rate, period, switching_weight)
    if is_journal(path) and learn and learner is None and last is None and not any(given):
        figure = plot_journal(path, theme=theme.value)
    else:
        log = _read(path, *given)
        log = log if last is None else log[-last:]
        figure = log.plot(policy=learner, learn=learn, theme=theme.value, title=f"{path.name}: {len(log)} rounds")
    kinds = figure.canvas.get_supported_filetypes()
    if target.suffix.removeprefix(".") not in kinds:
        raise ArgumentError(
            f"--out must end with one of {', '.join(f'.{kind}' for kind in sorted(kinds))}, got {target}"
        )
    if target.resolve() == path.resolve() or is_journal(target):
        raise ArgumentError(f"--out must not be a log or a journal, got {target}")
    print_text(f"wrote {save_figure(figure, target)}")


def _read(
    path: Path,
    x0: str | None,
    low: str | None,
    high: str | None,
    rate: str | None,
    period: str | None,
    weight: str | None,
) -> Log:
    """Read a log, with what the options give instead of the file's own."""
    first = None if x0 is None else parse_numbers("--x0", x0, float)
    return Log.read(
        path,
        x0=first,
        low=_parse_vector("--low", low),
        high=_parse_vector("--high", high),
        rate=_parse_vector("--rate", rate),
        period=_parse_vector("--period", period),
        switching_weight=_parse_vector("--switching-weight", weight),
    )


def _parse_vector(option: str, text: str | None) -> Any:
    """Return a number, or a list of numbers; None if the option was not given."""
    if text is None:
        return None
    numbers = parse_numbers(option, text, float)
    return numbers[0] if len(numbers) == 1 else numbers
