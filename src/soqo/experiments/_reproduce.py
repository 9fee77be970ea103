"""Simulation of settings into a folder with figures, tables, data and a page."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from soqo._foundation.arguments import integer
from soqo._foundation.frozen_dataclasses import Value
from soqo._foundation.optional_imports import require_extra
from soqo._simulation.result import package_versions
from soqo.errors import ArgumentError, SoqoWarning
from soqo.experiments import presentation
from soqo.experiments.execution import CellProgress, Outcome, code_version, run
from soqo.experiments.judgment import Claim, judge
from soqo.experiments.settings import MAX_RUNS, Setting, catalogue

_QUICK_RUNS = 4
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
    claims : tuple of Claim
        The paper's claims with their verdicts; empty if no setting is the paper's.
    index : Path
        The page.
    files : tuple of Path
        All files that were written, except the cells.
    """

    outcomes: tuple[Outcome, ...] = field(repr=False)
    claims: tuple[Claim, ...] = field(repr=False)
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
    ``claims.csv``; and ``cells/``, from which an interrupted call resumes. The same numbers give the same files.

    Parameters
    ----------
    settings : sequence of Setting
        The settings, with different names.
    out : path
        The folder; it is created if necessary.
    runs : int, optional
        The number of runs, instead of each setting's own.
    quick : bool
        Whether to take a first look only: at most four runs, and three of the horizons.
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
    ...     [file.name for file in report.files][:4]
    ['intro.csv', 'intro.nc', 'claims.csv', 'about.json']
    """
    if not settings:
        raise ArgumentError("settings must be at least one, got none")
    if runs is not None:
        runs = integer("runs", runs, least=1, most=MAX_RUNS)
    presentation.figure_names(settings)  # it refuses names that two settings share
    for module in ("matplotlib", "xarray"):
        require_extra(module, "lab")
    folder = Path(out)
    _make_folders(folder)
    chosen = [setting if runs is None else replace(setting, runs=runs) for setting in settings]
    if quick:
        chosen = [quick_setting(setting) for setting in chosen]
    outcomes = run(chosen, folder / "cells", workers=workers, scheduler=scheduler, progress=progress)
    of_the_paper = {setting.name for setting in catalogue()} & {setting.name for setting in settings}
    claims = judge(outcomes) if of_the_paper else []
    return _write_report(outcomes, claims, folder, _describe_run(outcomes, command, quick))


def quick_setting(setting: Setting) -> Setting:
    """Return a setting for a first look: at most four runs, and the first, the middle and the last horizon.

    Parameters
    ----------
    setting : Setting
        The setting.

    Examples
    --------
    >>> from soqo.experiments import find
    >>> quick = quick_setting(find("primary")[0])
    >>> quick.runs, quick.horizons
    (4, (200, 1000, 2000))
    """
    h = setting.horizons
    kept = (h[0], h[len(h) // 2], h[-1]) if h else ()
    return replace(setting, runs=min(_QUICK_RUNS, setting.runs), horizons=tuple(dict.fromkeys(kept)))


def _make_folders(folder: Path) -> None:
    """Create the folders before anything is computed, so that an error comes early."""
    for path in (folder, *(folder / name for name in _FOLDERS)):
        try:
            path.mkdir(parents=True, exist_ok=True)
        except FileExistsError:
            raise ArgumentError(f"out must be a folder, and {path} is a file") from None
        except OSError as error:
            raise ArgumentError(f"out must be a writable folder, and {path} is not: {error.strerror}") from error


def _describe_run(outcomes: Sequence[Outcome], command: str, quick: bool) -> dict[str, Any]:
    """Return what is needed to get the same numbers again, and nothing that differs from run to run."""
    return {
        "command": command,
        "quick": quick,
        "versions": package_versions(),
        "code": code_version(),
        "settings": {
            outcome.setting.name: {key: getattr(outcome.setting, key) for key in _DESCRIBED} | {"runs": outcome.runs}
            for outcome in outcomes
        },
    }


def _write_report(outcomes: Sequence[Outcome], claims: Sequence[Claim], folder: Path, about: dict[str, Any]) -> Report:
    """Write all files: the numbers first, and the page last, so that its links are valid."""
    files: list[Path] = []
    for outcome in outcomes:
        name = outcome.setting.name
        files.append(presentation.write_csv(folder / "tables" / f"{name}.csv", _summary_rows(outcome)))
        for horizon in outcome.horizons:
            suffix = "" if horizon == outcome.setting.horizon else f"_T{horizon}"
            files.append(outcome.results[horizon].save(folder / "data" / f"{name}{suffix}.nc"))
    if claims:
        header = [field.name for field in fields(Claim)]
        files.append(presentation.write_csv(folder / "claims.csv", [header, *map(astuple, claims)]))
    text = json.dumps(about, indent=2, ensure_ascii=False, sort_keys=True) + "\n"
    files.append(presentation.write_atomically(folder / "about.json", text))
    figures = []
    svgs: dict[str, str] = {}
    for figure in presentation.report_figures(outcomes):
        try:
            drawn = figure.draw()
            svgs[figure.name] = presentation.render_svg(drawn)
            files.append(presentation.write_atomically(folder / "figures" / f"{figure.name}.svg", svgs[figure.name]))
            files.append(presentation.save_figure(drawn, folder / "figures" / f"{figure.name}.png"))
        except Exception as error:  # a picture that cannot be drawn must not cost the others and the page
            warnings.warn(f"figure {figure.name} could not be drawn: {error}", SoqoWarning, stacklevel=3)
        else:
            figures.append(figure)
    index = presentation.write_atomically(folder / "index.html", presentation.render_page(figures, claims, about, svgs))
    return Report(tuple(outcomes), tuple(claims), index, (*files, index))


def _summary_rows(outcome: Outcome) -> list[list[object]]:
    """Return a header, and a row for every policy and horizon."""
    numbers = ("mean", "median", "lower_quartile", "upper_quartile")
    rows: list[list[object]] = []
    for horizon in outcome.horizons:
        summary = outcome.summary(horizon)
        for name, row in summary.items():
            statistics = (getattr(row, number) for number in numbers)
            rows.append([name, horizon, row.runs, *statistics, *row.interval, row.diverged])
    ends = (f"{summary.interval_of}_{end}_{summary.level:g}" for end in ("low", "high"))
    return [["policy", "horizon", "runs", *numbers, *ends, "diverged"], *rows]
