"""Regret in a few numbers per policy: mean, median, quartiles, a bootstrap interval, and how many runs diverged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from soqo._arguments import choice, integer, number
from soqo.typing import Array

__all__ = ["PolicySummary", "Summary", "summarize"]

AT_ONCE = 10_000_000
"""How many resampled numbers to hold at a time."""


@dataclass(frozen=True)
class PolicySummary:
    """One policy's regret over the runs; ``interval`` is NaN for a single run."""

    mean: float
    median: float
    lower_quartile: float
    upper_quartile: float
    interval: tuple[float, float]
    diverged: int
    runs: int


@dataclass(frozen=True, repr=False)
class Summary(Mapping[str, PolicySummary]):
    """A summary for each policy; printing it gives a table."""

    rows: dict[str, PolicySummary]
    interval_of: str
    level: float

    def __getitem__(self, policy: str) -> PolicySummary:
        return self.rows[policy]

    def __iter__(self) -> Iterator[str]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Header and rows as text, for whoever prints them."""
        interval = f"{100 * self.level:g}% of {self.interval_of}"
        header = ["policy", "median", "quartiles", interval, "mean", "diverged"]
        body = [
            [
                name,
                short(row.median),
                f"{short(row.lower_quartile)} .. {short(row.upper_quartile)}",
                f"{short(row.interval[0])} .. {short(row.interval[1])}",
                short(row.mean),
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


def short(value: float) -> str:
    """Three digits in as few characters as a table can spare.

    >>> [short(x) for x in (1234567.0, 0.25, -3e-10, float("nan"))]
    ['1.23e6', '0.25', '-3e-10', 'nan']
    """
    return f"{value:.3g}".replace("e+0", "e").replace("e+", "e").replace("e-0", "e-")


def summarize(
    samples: Mapping[str, Array],
    diverged: Mapping[str, int],
    interval_of: str = "median",
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
    number("level", level, above=0.0, most=1.0)
    integer("resamples", resamples, least=1)
    rows = {}
    for name, sample in samples.items():
        lower, median, upper = np.quantile(sample, [0.25, 0.5, 0.75])
        rows[name] = PolicySummary(
            mean=float(sample.mean()),
            median=float(median),
            lower_quartile=float(lower),
            upper_quartile=float(upper),
            interval=bootstrap(sample, interval_of, level, resamples),
            diverged=diverged[name],
            runs=sample.size,
        )
    return Summary(rows, interval_of, level)


def bootstrap(sample: Array, statistic: str, level: float, resamples: int) -> tuple[float, float]:
    """The percentile bootstrap interval of the mean or the median, with a fixed seed."""
    if sample.size < 2:
        return (float("nan"), float("nan"))
    rng = np.random.default_rng(0)
    reduce = np.median if statistic == "median" else np.mean
    rows = max(1, AT_ONCE // sample.size)
    values = np.concatenate(
        [
            reduce(
                sample[rng.integers(sample.size, size=(min(rows, resamples - k), sample.size))],
                axis=1,
            )
            for k in range(0, resamples, rows)
        ]
    )
    low, high = np.quantile(values, [0.5 - level / 2, 0.5 + level / 2])
    return (float(low), float(high))
