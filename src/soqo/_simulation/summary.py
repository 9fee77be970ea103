"""Summaries of regret: mean, median, quartiles, a bootstrap interval and the number of diverged runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from html import escape
from typing import Literal, TypeVar

import numpy as np

from soqo._foundation.arguments import choice, integer, number
from soqo._foundation.bootstrap_intervals import bootstrap_statistic, percentile_interval
from soqo._foundation.frozen_dataclasses import Value
from soqo.errors import UnknownNameError
from soqo.typing import Array

_Record = TypeVar("_Record")


@dataclass(frozen=True)
class PolicySummary(Value):
    """One policy's regret over the runs.

    Attributes
    ----------
    mean, median, lower_quartile, upper_quartile : float
        The statistics of the regret over the runs.
    interval : tuple of float
        The bootstrap interval of the mean or the median; NaN for a single run.
    diverged, runs : int
        The number of diverged runs, and of all runs.
    """

    mean: float
    median: float
    lower_quartile: float
    upper_quartile: float
    interval: tuple[float, float]
    diverged: int
    runs: int


@dataclass(frozen=True)
class Summary(Value, Mapping[str, PolicySummary]):
    """A mapping from each policy's name to its summary; printing it gives a table.

    Attributes
    ----------
    rows : dict of str to PolicySummary
    interval_of : {"median", "mean"}
        The statistic that the bootstrap intervals are for.
    level : float
        The coverage of the intervals.
    """

    rows: dict[str, PolicySummary]
    interval_of: str
    level: float

    def __getitem__(self, policy: str) -> PolicySummary:
        return look_up_policy(self.rows, policy)

    def __iter__(self) -> Iterator[str]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Return the header and the rows as text."""
        interval = f"{100 * self.level:g}% of {self.interval_of}"
        header = ["policy", "median", "quartiles", interval, "mean", "diverged"]
        body = [
            [
                name,
                format_short(row.median),
                f"{format_short(row.lower_quartile)} .. {format_short(row.upper_quartile)}",
                f"{format_short(row.interval[0])} .. {format_short(row.interval[1])}",
                format_short(row.mean),
                f"{row.diverged}/{row.runs}",
            ]
            for name, row in self.rows.items()
        ]
        return header, body

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        header, body = self.table()
        widths = [max(map(len, column)) for column in zip(header, *body, strict=True)]
        lines = []
        for row in [header, *body]:
            cells = [row[0].ljust(widths[0])]
            cells += [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
            lines.append("  ".join(cells))
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """Return the table in HTML, for notebooks."""
        header, body = self.table()
        head = "".join(f"<th>{escape(cell)}</th>" for cell in header)
        rows = "\n".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in body)
        return f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}\n</tbody>\n</table>"


def look_up_policy(records: Mapping[str, _Record], policy: str) -> _Record:
    """Return a policy's record; an unknown name raises an error that lists the known ones."""
    if policy not in records:
        known = ", ".join(repr(name) for name in records)
        raise UnknownNameError(f"policy must be one of {known}, got {policy!r}")
    return records[policy]


def format_short(value: float) -> str:
    """Format a number with three digits, in as few characters as possible.

    Examples
    --------
    >>> [format_short(x) for x in (1234567.0, 0.25, -3e-10, float("nan"))]
    ['1.23e6', '0.25', '-3e-10', 'nan']
    """
    return f"{value:.3g}".replace("e+0", "e").replace("e+", "e").replace("e-0", "e-")


def summarize(
    samples: Mapping[str, Array],
    diverged: Mapping[str, int],
    interval_of: Literal["median", "mean"] = "median",
    level: float = 0.95,
    resamples: int = 2000,
) -> Summary:
    """Summarize samples of regret, one array of shape (runs,) per policy.

    Examples
    --------
    >>> print(summarize({"FTM": np.array([1.0, 2.0, 3.0, 4.0])}, {"FTM": 0}))
    policy  median     quartiles  95% of median  mean  diverged
    FTM        2.5  1.75 .. 3.25         1 .. 4   2.5       0/4
    """
    choice("interval_of", interval_of, ("median", "mean"))
    level = number("level", level, above=0.0, most=1.0)
    resamples = integer("resamples", resamples, least=1)
    rows = {}
    # The regret of a diverged run may be infinite, and then the mean is infinite or NaN.
    with np.errstate(over="ignore", invalid="ignore"):
        for name, sample in samples.items():
            lower, median, upper = np.quantile(sample, [0.25, 0.5, 0.75])
            interval = (float("nan"), float("nan"))
            if sample.size > 1:
                resampled = bootstrap_statistic(sample, statistic=interval_of, resamples=resamples)
                interval = percentile_interval(resampled, (0.5 - level / 2, 0.5 + level / 2))
            rows[name] = PolicySummary(
                mean=float(sample.mean()),
                median=float(median),
                lower_quartile=float(lower),
                upper_quartile=float(upper),
                interval=interval,
                diverged=diverged[name],
                runs=sample.size,
            )
    return Summary(rows, interval_of, level)
