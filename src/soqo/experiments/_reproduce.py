"""Simulation of settings into a folder with figures, tables, data and a page."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from soqo._foundation.frozen_dataclasses import Value
from soqo._foundation.optional_imports import require_extra
from soqo._simulation.result import package_versions
from soqo.errors import ArgumentError, SoqoWarning
from soqo.experiments import presentation
from soqo.experiments.execution import (
    CellProgress,
    Landed,
    Outcome,
    check_work,
    code_version,
    open_executor,
    run_with_plans,
)
from soqo.experiments.judgment import Evidence, Judgment, gather_evidence, judge, tune_c1
from soqo.experiments.presentation import ReportFigure
from soqo.experiments.settings import (
    Reading,
    Setting,
    all_readings,
    catalogue,
    few_readings,
    plan_first_stage,
    plan_second_stage,
)

_QUICK_RUNS = 8
_FIGURES_PER_PROCESS = 4
"""Fewer figures are drawn sooner than another process starts."""

_WITH_OURS = ("intro", "primary")
"""The figures that show policies that are not in the paper even at a first look."""

_FOLDERS = ("cells", "figures", "tables", "data")
_DESCRIBED = ("figure", "title", "source", "note", "seed", "horizon", "horizons")
"""The fields of a setting that ``about.json`` lists, in addition to the number of runs."""


@dataclass(frozen=True)
class Report(Value):
    """The outcomes, the verdicts and the files of a call of :func:`reproduce`.

    Attributes
    ----------
    outcomes : tuple of Outcome
        One for each setting.
    judgment : Judgment or None
        The paper's claims with their verdicts; None if no setting is the paper's.
    evidence : Evidence
        Numbers beside regret.
    index : Path
        The page.
    files : tuple of Path
        All files that were written, except the cells.
    """

    outcomes: tuple[Outcome, ...] = field(repr=False)
    judgment: Judgment | None = field(repr=False)
    evidence: Evidence = field(repr=False)
    index: Path
    files: tuple[Path, ...] = field(repr=False)


def reproduce(
    settings: Sequence[Setting],
    out: str | os.PathLike[str],
    *,
    runs: int | None = None,
    quick: bool = False,
    workers: int | None = None,
    scheduler: str | None = None,
    progress: Callable[[CellProgress], None] | None = None,
    command: str = "",
) -> Report:
    """Simulate settings, judge the paper's claims, and write everything to a folder (extra ``lab``).

    The folder gets ``index.html``, ``about.json``, ``figures/``, ``tables/``, ``data/`` and, for the paper's settings,
    ``claims.csv`` and ``claims.json``; and ``cells/``, from which an interrupted call resumes. The same numbers give
    the same files. While cells are computed, ``index.html`` is a page of the run in progress.

    Parameters
    ----------
    settings : sequence of Setting
        The settings, with different names.
    out : path
        The folder; it is created if necessary.
    runs : int, optional
        The number of runs, instead of each setting's own.
    quick : bool
        Whether to take a first look only: at most eight runs, three of the horizons, and readings of the paper that
        differ from its letter in one choice.
    workers, scheduler, progress
        As in :func:`run`.
    command : str
        The command that the user entered, for the page.

    Returns
    -------
    Report
        The outcomes, the claims and the files.

    Examples
    --------
    >>> import tempfile
    >>> from soqo.experiments import find, reproduce
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     report = reproduce(find("intro"), folder, runs=1, workers=1)
    ...     [file.name for file in report.files if file.suffix in (".csv", ".json", ".html")]
    ['intro.csv', 'claims.csv', 'claims.json', 'about.json', 'index.html']
    """
    if not settings:
        raise ArgumentError("settings must be at least one, got none")
    chosen, count = check_work(settings, runs, workers, scheduler)
    presentation.figure_names(settings)  # it refuses names that two settings share
    for module in ("matplotlib", "xarray"):
        require_extra(module, "lab")
    folder = Path(out)
    _make_folders(folder)
    if quick:
        chosen = [quick_setting(setting, keep_runs=runs is not None) for setting in chosen]
    about = _describe_run(chosen, command, quick)
    simulate = partial(
        run_with_plans,
        folder=folder / "cells",
        workers=count,
        scheduler=scheduler,
        progress=progress,
        landed=partial(_write_progress, folder, about),
    )
    readings = few_readings() if quick else all_readings()
    outcomes, judgment, evidence = _simulate_and_judge(chosen, readings, simulate)
    return _write_report(outcomes, judgment, evidence, folder, about, count)


def _simulate_and_judge(
    settings: Sequence[Setting],
    readings: Sequence[Reading],
    simulate: Callable[..., tuple[list[Outcome], Any]],
) -> tuple[list[Outcome], Judgment | None, Evidence]:
    """Simulate settings and what readings need, in two stages, and judge the claims."""
    known = {setting.name: _policies_of_the_paper(setting) for setting in catalogue()}
    judged = [s for s in settings if s.name != "intro" and known.get(s.name) == _policies_of_the_paper(s)]
    outcomes, table = simulate(settings, plan_first_stage(judged, readings))
    if not {setting.name for setting in settings} & set(known):
        return outcomes, None, Evidence()
    tuned = tune_c1(judged, table, readings)
    if later := plan_second_stage(judged, readings, tuned):
        table = _join_tables(table, simulate([], later, landed=None)[1])
    runs = min((setting.runs for setting in judged), default=0)
    evidence = gather_evidence(judged, outcomes, tuned, readings, runs)
    return outcomes, judge(judged, table, tuned, readings, evidence), evidence


def _policies_of_the_paper(setting: Setting) -> dict[str, object]:
    return {name: policy for name, policy in setting.policies.items() if name in setting.roles}


def _join_tables(first: dict[Any, Any], second: dict[Any, Any]) -> dict[Any, Any]:
    """Return the policies of both tables."""
    joined = dict(first)
    for place, regrets in second.items():
        if place in joined:
            new = [name for name in regrets.policies if name not in joined[place].policies]
            parts = [joined[place], regrets.choose(new)] if new else [joined[place]]
            joined[place] = type(regrets).join_policies(parts)
        else:
            joined[place] = regrets
    return joined


def _write_progress(folder: Path, about: Mapping[str, Any], landed: Landed) -> None:
    presentation.write_progress(folder, landed, about)


def quick_setting(setting: Setting, *, keep_runs: bool = False) -> Setting:
    """Return a setting for a first look: at most eight runs, and the first, the middle and the last horizon.

    Of the paper's settings, only the first two have the policies that are not in the paper.

    Parameters
    ----------
    setting : Setting
        The setting.
    keep_runs : bool
        Whether to keep the number of runs.

    Examples
    --------
    >>> from soqo.experiments import find
    >>> quick = quick_setting(find("primary")[0])
    >>> quick.runs, quick.horizons
    (8, (200, 1000, 2000))
    """
    h = setting.horizons
    kept = (h[0], h[len(h) // 2], h[-1]) if h else ()
    runs = setting.runs if keep_runs else min(_QUICK_RUNS, setting.runs)
    # Policies of ours take a third of the time, and the first figures show them.
    left_out = setting.single_horizon if setting.roles and setting.figure not in _WITH_OURS else frozenset()
    policies = {name: policy for name, policy in setting.policies.items() if name not in left_out}
    return replace(setting, runs=runs, horizons=tuple(dict.fromkeys(kept)), policies=policies)


def _make_folders(folder: Path) -> None:
    """Create the folders before anything is computed, so that an error comes early."""
    for path in (folder, *(folder / name for name in _FOLDERS)):
        try:
            path.mkdir(parents=True, exist_ok=True)
        except FileExistsError:
            raise ArgumentError(f"out must be a folder, and {path} is a file") from None
        except OSError as error:
            raise ArgumentError(f"out must be a writable folder, and {path} is not: {error.strerror}") from error


def _describe_run(settings: Sequence[Setting], command: str, quick: bool) -> dict[str, Any]:
    """Return what is needed to get the same numbers again, and nothing that differs from run to run."""
    return {
        "command": command,
        "quick": quick,
        "versions": package_versions(),
        "code": code_version(),
        "settings": {
            setting.name: {key: getattr(setting, key) for key in _DESCRIBED}
            | {
                "runs": setting.runs,
                "sources": dict(setting.sources),
                "contradictions": list(setting.contradictions),
            }
            for setting in settings
        },
    }


def _write_report(
    outcomes: Sequence[Outcome],
    judgment: Judgment | None,
    evidence: Evidence,
    folder: Path,
    about: dict[str, Any],
    workers: int,
) -> Report:
    """Write all files: the numbers first, and the page last, so that its links are valid."""
    files: list[Path] = []
    for outcome in outcomes:
        name = outcome.setting.name
        files.append(presentation.write_csv(folder / "tables" / f"{name}.csv", _summary_rows(outcome)))
        for horizon in outcome.horizons:
            suffix = "" if horizon == outcome.setting.horizon else f"_T{horizon}"
            files.append(outcome.results[horizon].save(folder / "data" / f"{name}{suffix}.nc"))
    if judgment is not None:
        files.append(presentation.write_csv(folder / "claims.csv", _claim_rows(judgment)))
        files.append(_write_json(folder / "claims.json", judgment.to_dict()))
    files.append(_write_json(folder / "about.json", about))
    planned = presentation.report_figures(outcomes, evidence)
    figures = _draw_figures(planned, folder / "figures", workers)
    files += [folder / "figures" / f"{figure.name}.{suffix}" for figure in figures for suffix in ("svg", "png")]
    data = presentation.ReportData(tuple(outcomes), judgment, evidence, tuple(figures), about)
    index = presentation.write_atomically(folder / "index.html", presentation.render_page(data))
    return Report(tuple(outcomes), judgment, evidence, index, (*files, index))


def _draw_figures(figures: Sequence[ReportFigure], folder: Path, workers: int) -> list[ReportFigure]:
    """Write every figure as SVG and PNG, in several processes if there are many; return those that were drawn.

    A figure that cannot be drawn is left out with a warning: it must not cost the others and the page.
    """
    draw = partial(_draw_figure, folder=folder)
    processes = min(workers, len(figures) // _FIGURES_PER_PROCESS)
    if processes <= 1:
        errors = [draw(figure) for figure in figures]
    else:
        with open_executor(processes, None, []) as executor:
            errors = list(executor.map(draw, figures))
    for figure, error in zip(figures, errors, strict=True):
        if error:
            warnings.warn(f"figure {figure.name} could not be drawn: {error}", SoqoWarning, stacklevel=4)
    return [figure for figure, error in zip(figures, errors, strict=True) if not error]


def _draw_figure(figure: ReportFigure, folder: Path) -> str:
    """Write a figure as SVG and PNG; return the reason if it cannot be drawn."""
    try:
        drawn = figure.draw()
        for suffix in ("svg", "png"):
            presentation.save_figure(drawn, folder / f"{figure.name}.{suffix}")
    except Exception as error:
        return str(error) or type(error).__name__
    return ""


def _write_json(path: Path, content: Any) -> Path:
    text = json.dumps(content, indent=1, ensure_ascii=False, sort_keys=True) + "\n"
    return presentation.write_atomically(path, text)


def _claim_rows(judgment: Judgment) -> list[list[object]]:
    """Return a header, and a row for every claim and reading; settings that decide a verdict come first in it."""
    rows: list[list[object]] = [
        ["claim", "kind", "section", "text", "source", "rule", "reading", "status", "settings", "numbers"]
    ]
    for claim in judgment.claims:
        about = [claim.id, claim.kind.value, claim.section, claim.text, claim.source, claim.rule]
        for verdict in claim.verdicts:
            held = f"holds in {verdict.held} of {len(verdict.cases)}"
            numbers = "; ".join(
                f"{case.setting}: {claim.word(case.status)}, {', '.join(map(str, case.numbers[:2]))}"
                for case in verdict.decisive
                if case.numbers
            )
            rows.append([*about, verdict.reading.key, verdict.status.value, held, numbers])
        if not claim.verdicts:
            rows.append([*about, "", claim.summary, "", ""])
    return rows


def _summary_rows(outcome: Outcome) -> list[list[object]]:
    """Return a header, and a row for every policy and horizon, with the intervals of the page."""
    rows: list[list[object]] = []
    for horizon in outcome.horizons:
        for name, row in outcome.summary(horizon).items():
            k = outcome.horizons_of(name).index(horizon)
            bands = [outcome.band(name, statistic, "horizons") for statistic in ("mean", "median")]
            ends = [float(end[k]) for band in bands for end in (band.low, band.high)]
            numbers = (row.mean, row.median, row.lower_quartile, row.upper_quartile, *ends)
            rows.append([name, horizon, row.runs, *numbers, row.diverged])
    intervals = [f"{statistic}_{end}_0.95" for statistic in ("mean", "median") for end in ("low", "high")]
    heads = ("policy", "horizon", "runs", "mean", "median", "lower_quartile", "upper_quartile")
    return [[*heads, *intervals, "diverged"], *rows]
