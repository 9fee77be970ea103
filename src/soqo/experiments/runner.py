"""Run a setting and leave its figure, table and raw numbers in a folder."""

from __future__ import annotations

import csv
import os
from dataclasses import dataclass
from pathlib import Path

from soqo.errors import require_extra
from soqo.experiments.figures import regret_figure, save_figure
from soqo.experiments.settings import Setting
from soqo.result import Result
from soqo.simulation import Progress, simulate
from soqo.summary import Summary

__all__ = ["Outcome", "reproduce"]


@dataclass(frozen=True, eq=False)
class Outcome:
    """What came of a setting: the result, its summary, and the files that were written."""

    result: Result
    summary: Summary
    files: tuple[Path, ...]


def reproduce(
    setting: Setting,
    out: str | os.PathLike[str],
    *,
    runs: int | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Outcome:
    """Simulate a setting and write ``NAME.png``, ``.svg``, ``.csv`` (the summary) and ``.nc`` (all numbers).

    Parameters
    ----------
    setting : Setting
    out : path
        The folder to write to; made if it is not there.
    runs : int, optional
        In place of the setting's own number of runs.
    seed : int
    progress : callable, optional
        As in :func:`soqo.simulate`.
    """
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    result = simulate(
        setting.environment,
        setting.policies,
        setting.horizon,
        setting.runs if runs is None else runs,
        seed,
        progress=progress,
    )
    summary = result.summary()
    figure = regret_figure(result, setting.title)
    pictures = [
        save_figure(figure, folder / f"{setting.name}{suffix}") for suffix in (".png", ".svg")
    ]
    require_extra("matplotlib.pyplot", "lab").close(figure)
    table = folder / f"{setting.name}.csv"
    write_summary(summary, table)
    numbers = result.save(folder / f"{setting.name}.nc")
    return Outcome(result, summary, (*pictures, table, numbers))


def write_summary(summary: Summary, path: Path) -> None:
    """The summary as a table with one row per policy."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(
            ["policy", "runs", "mean", "median", "lower_quartile", "upper_quartile"]
            + [f"{summary.interval_of}_{end}_{summary.level:g}" for end in ("low", "high")]
            + ["diverged"]
        )
        for name, row in summary.items():
            quartiles = [row.lower_quartile, row.upper_quartile]
            writer.writerow(
                [name, row.runs, row.mean, row.median, *quartiles, *row.interval, row.diverged]
            )
