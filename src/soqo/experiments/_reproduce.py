"""Run settings, and leave pictures, tables, numbers and a page about them in a folder."""

from __future__ import annotations

import csv
import io
import json
import os
import platform
from collections.abc import Callable, Iterable, Sequence
from dataclasses import astuple, dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy

from soqo._arguments import integer
from soqo._storage.files import replacing
from soqo._version import __version__
from soqo.errors import ArgumentError, require_extra
from soqo.experiments import judgment as claims_module
from soqo.experiments.execution import _engine as engine
from soqo.experiments.execution._cells import code_version
from soqo.experiments.execution._engine import Tick
from soqo.experiments.execution._outcome import Outcome
from soqo.experiments.judgment import Claim
from soqo.experiments.presentation._figures import save_figure
from soqo.experiments.presentation._page import page
from soqo.experiments.presentation._pictures import picture_names, pictures_of
from soqo.experiments.settings._catalogue import catalogue
from soqo.experiments.settings._spec import Setting

__all__ = ["Report", "quickened", "reproduce"]

QUICK_RUNS = 4
FOLDERS = ("cells", "figures", "tables", "data")


@dataclass(frozen=True, eq=False)
class Report:
    """What came of a run.

    Attributes
    ----------
    outcomes : tuple of Outcome
        One for each setting.
    claims : tuple of Claim
        The paper's claims, judged.
    index : Path
        The page to open.
    files : tuple of Path
        All that was written, but for the cells.
    """

    outcomes: tuple[Outcome, ...]
    claims: tuple[Claim, ...]
    index: Path
    files: tuple[Path, ...]


def reproduce(
    settings: Sequence[Setting],
    out: str | os.PathLike[str],
    *,
    runs: int | None = None,
    quick: bool = False,
    workers: int | None = None,
    scheduler: str | None = None,
    progress: Callable[[Tick], None] | None = None,
    command: str = "",
) -> Report:
    """Simulate settings, judge the paper's claims, and write all of it to a folder (extra ``lab``).

    The folder gets ``index.html``, ``about.json``, ``figures/``, ``tables/``, ``data/``, of the paper's settings a
    ``claims.csv``; and ``cells/``, from which a run that was stopped goes on. The same numbers give the same files, to
    the byte.

    Parameters
    ----------
    settings : sequence of Setting
    out : path
        The folder; made if it is not there.
    runs : int, optional
        In place of each setting's own number of runs.
    quick : bool
        A first look: at most four runs, and three of the horizons.
    workers, scheduler, progress
        As in :func:`soqo.experiments.execution._engine.run`.
    command : str
        What the user typed, for the page.

    Examples
    --------
    >>> import tempfile
    >>> from soqo.experiments.settings._catalogue import find
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     report = reproduce(find("intro"), folder, runs=1, workers=1)
    ...     [file.name for file in report.files][:4]
    ['intro.svg', 'intro.png', 'curvature.svg', 'curvature.png']
    """
    if not settings:
        raise ArgumentError("settings must be at least one, got none")
    if runs is not None:
        integer("runs", runs, least=1)
    picture_names(settings)
    for module in ("matplotlib", "xarray"):
        require_extra(module, "lab")
    folder = prepared(Path(out))
    wanted = [with_runs(setting, runs) for setting in settings]
    if quick:
        wanted = [quickened(setting) for setting in wanted]
    outcomes = engine.run(wanted, folder / "cells", workers=workers, scheduler=scheduler, progress=progress)
    ours = {setting.name for setting in catalogue()}
    # Settings of one's own say nothing about the paper.
    paper = any(outcome.setting.name in ours for outcome in outcomes)
    claims = claims_module.judge(outcomes) if paper else []
    return written(outcomes, claims, folder, about(outcomes, command, quick))


def with_runs(setting: Setting, runs: int | None) -> Setting:
    """The same with another number of runs, if one is given."""
    return setting if runs is None else replace(setting, runs=runs)


def quickened(setting: Setting) -> Setting:
    """A setting for a first look: at most four runs, and the first, the middle and the last horizon.

    Examples
    --------
    >>> from soqo.experiments.settings._catalogue import find
    >>> quick = quickened(find("primary")[0])
    >>> quick.runs, quick.horizons
    (4, (200, 1000, 2000))
    """
    h = setting.horizons
    kept = (h[0], h[len(h) // 2], h[-1]) if h else ()
    return replace(setting, runs=min(QUICK_RUNS, setting.runs), horizons=tuple(dict.fromkeys(kept)))


def prepared(folder: Path) -> Path:
    """The folder and those in it, before hours are spent on what could not be written."""
    for path in (folder, *(folder / name for name in FOLDERS)):
        try:
            path.mkdir(parents=True, exist_ok=True)
        except FileExistsError:
            raise ArgumentError(f"out must be a folder, and {path} is a file") from None
        except OSError as error:
            raise ArgumentError(
                f"out must be a folder that can be written to, and {path} cannot: {error.strerror}"
            ) from error
    return folder


def about(outcomes: Sequence[Outcome], command: str, quick: bool) -> dict[str, Any]:
    """What the numbers came from: enough to get them again, and nothing that differs from run to run."""
    return {
        "command": command,
        "quick": quick,
        "versions": {
            "soqo": __version__,
            "numpy": np.__version__,
            "scipy": scipy.__version__,
            "python": platform.python_version(),
        },
        "code": code_version(),
        "settings": {
            outcome.setting.name: {
                "figure": outcome.setting.figure,
                "title": outcome.setting.title,
                "source": outcome.setting.source,
                "note": outcome.setting.note,
                "seed": outcome.setting.seed,
                "runs": outcome.runs,
                "horizon": outcome.setting.horizon,
                "horizons": list(outcome.setting.horizons),
            }
            for outcome in outcomes
        },
    }


# ---- files ---------------------------------------------------------------------------------------------------------


def written(outcomes: Sequence[Outcome], claims: Sequence[Claim], folder: Path, facts: dict[str, Any]) -> Report:
    """Write everything; the page last, so that what it links to is there."""
    files: list[Path] = []
    pictures = pictures_of(outcomes)
    for picture in pictures:
        drawn = picture.draw()
        names = [f"{picture.name}.{suffix}" for suffix in ("svg", "png")]
        files += [save_figure(drawn, folder / "figures" / name) for name in names]
    for outcome in outcomes:
        name = outcome.setting.name
        files.append(write_csv(folder / "tables" / f"{name}.csv", summary_rows(outcome)))
        files.append(outcome.save(folder / "data" / f"{name}.nc"))
    if claims:
        header = [field.name for field in fields(Claim)]
        files.append(write_csv(folder / "claims.csv", [header, *map(astuple, claims)]))
    text = json.dumps(facts, indent=2, ensure_ascii=False, sort_keys=True) + "\n"
    files.append(write_text(folder / "about.json", text))
    svgs = {
        picture.name: (folder / "figures" / f"{picture.name}.svg").read_text(encoding="utf-8") for picture in pictures
    }
    index = write_text(folder / "index.html", page(pictures, claims, facts, svgs))
    return Report(tuple(outcomes), tuple(claims), index, (*files, index))


def summary_rows(outcome: Outcome) -> list[list[object]]:
    """A header, and a row for every policy and horizon."""
    rows: list[list[object]] = []
    for horizon in outcome.horizons:
        # What diverged may be infinite, and the mean of it no number: that is what the table says.
        with np.errstate(over="ignore", invalid="ignore"):
            summary = outcome.summary(horizon)
        if not rows:
            ends = [f"{summary.interval_of}_{end}_{summary.level:g}" for end in ("low", "high")]
            numbers = ["mean", "median", "lower_quartile", "upper_quartile", *ends, "diverged"]
            rows.append(["policy", "horizon", "runs", *numbers])
        for name, row in summary.items():
            quartiles = (row.lower_quartile, row.upper_quartile)
            values = (row.mean, row.median, *quartiles, *row.interval, row.diverged)
            rows.append([name, horizon, row.runs, *values])
    return rows


def write_csv(path: Path, rows: Iterable[Iterable[object]]) -> Path:
    """A table, whole or not at all."""
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows(rows)
    return write_text(path, text.getvalue())


def write_text(path: Path, text: str) -> Path:
    """A text, whole or not at all."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")
    return path
