"""Simulated regret, exact regret and every bound over the horizon, as a table, as files, and in words."""

from __future__ import annotations

import csv
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from soqo._storage.files import replacing
from soqo._summary import short
from soqo.experiments.presentation._bounds_figure import bounds_figure
from soqo.experiments.presentation._figures import save_figure
from soqo.theory import Growth, growth_exponent
from soqo.typing import Array

__all__ = ["BoundName", "BoundsTable", "in_words"]

BoundName = tuple[str, str]
"""A statement, such as "Theorem 1", and a variant of it, such as "as_printed"."""

ROUND_OFF = 1e-9
"""A share of regret that is no difference."""

FEW_RUNS = 5
"""Of fewer runs a standard error says nothing."""


@dataclass(frozen=True, eq=False)
class BoundsTable:
    """What SCaLE's regret was, what it is in expectation, and its bounds; printing it gives a table.

    Attributes
    ----------
    setting, title, policy : str
        ``policy`` says which SCaLE it is.
    probing : str
        The rule for the variance of its probes.
    m : int
        Its rounds of probing.
    horizons : tuple of int, length k
    simulated : Array, shape (k, runs)
        Regret at the end, of each run.
    exact : Array, shape (k, runs)
        Its expectation over v, given the run's own A, probes and estimate; NaN where there is none.
    exploitation : Array, shape (k, runs)
        The part of it that Theorems 4 and 5 are about: the expected regret of LAI with the run's estimate over the
        rounds after probing, for a player who starts on v.
    error : Array, shape (k, runs)
        The nuclear norm of A_hat - A; NaN where the horizon leaves no room for an estimate.
    gamma2 : Array, shape (k,)
        The variance of the probes that were played.
    bounds : mapping of (statement, variant) to Array of shape (k,)
        Means over the runs' A; NaN where a bound does not apply. All are for the schedule of the proof.
    epsilon : Array, shape (k, runs)
        The error that the schedule of the proof guarantees for each run's A, and that the bounds use.
    schedules : mapping of str to Array of shape (k,)
        By variant, the variance of the probes in the schedule of the proof.
    no_exact, no_bounds : str
        Why there is no exact regret, and why there are no bounds; empty where there are.
    """

    WHOLE: ClassVar[tuple[str, ...]] = ("Theorem 1", "Theorem 3", "Corollary 1")
    """Statements on the regret of all rounds; the others are on that of exploitation."""

    LOWER: ClassVar[str] = "Theorem 2"
    """The one lower bound. Its instance is A = 0, so that it says nothing about the runs of another A."""

    setting: str
    title: str
    policy: str
    probing: str
    m: int
    horizons: tuple[int, ...]
    simulated: Array
    exact: Array
    exploitation: Array
    error: Array
    gamma2: Array
    bounds: Mapping[BoundName, Array]
    epsilon: Array
    schedules: Mapping[str, Array]
    no_exact: str = ""
    no_bounds: str = ""

    # ---- numbers ---------------------------------------------------------------------------------------------------

    @property
    def runs(self) -> int:
        """The number of runs."""
        return int(self.simulated.shape[1])

    @property
    def mean(self) -> Array:
        """Of the simulated regret, for each horizon."""
        return np.asarray(self.simulated.mean(axis=1))

    @property
    def standard_error(self) -> Array:
        """Of that mean; NaN for a single run."""
        return standard_error(self.simulated)

    @property
    def discrepancy(self) -> Array:
        """Simulated less exact regret, as a mean over the runs in its standard errors: of order 1 if all is right."""
        difference = self.simulated - self.exact
        # Where v does not move, all that is left is round-off.
        difference[np.abs(difference) < ROUND_OFF * np.abs(self.exact)] = 0.0
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(difference.mean(axis=1) / standard_error(difference))

    def growth(self, regret: Array) -> Growth:
        """How regret, of shape (k, runs), grows over the horizons that leave room for exploitation."""
        lengths = np.array(self.horizons, dtype=float)
        used = (lengths > self.m) & np.isfinite(regret).all(axis=1)
        if used.sum() < 2:
            return Growth(math.nan, math.nan, math.nan)
        return growth_exponent(lengths[used], regret[used])

    def bounded(self, statement: str) -> Array:
        """The mean of what a statement is about: the exact regret of all rounds, or that of exploitation."""
        return np.asarray((self.exact if statement in self.WHOLE else self.exploitation).mean(axis=1))

    def beyond(self, name: BoundName) -> list[int]:
        """The horizons at which the exact regret is on the wrong side of a bound."""
        statement, _ = name
        bound, regret = self.bounds[name], self.bounded(statement)
        wrong = regret < bound if statement == self.LOWER else regret > bound
        return [T for T, is_wrong in zip(self.horizons, wrong.tolist(), strict=True) if is_wrong]

    # ---- words -----------------------------------------------------------------------------------------------------

    def __str__(self) -> str:
        about = f"{self.policy}: m = {self.m} rounds of probing, gamma^2 {self.probing}"
        return "\n".join([about, "", *self.lines(), "", *self.remarks()])

    def lines(self) -> Iterator[str]:
        """The rows of the table, a column for each horizon."""
        sections = list(self.sections())
        label = max(len(row) for _, rows in sections for row in rows) + 2
        cells = [cell for _, rows in sections for row in rows.values() for cell in row]
        width = max(map(len, [*cells, *map(str, self.horizons)])) + 2
        first, *others = self.horizons
        yield f"T = {first}".rjust(label + 2 + width) + "".join(f"{T:>{width}}" for T in others)
        for head, rows in sections:
            yield head
            for row, values in rows.items():
                yield f"  {row:<{label}}" + "".join(value.rjust(width) for value in values)

    def sections(self) -> Iterator[tuple[str, dict[str, list[str]]]]:
        """The table's parts, each with its rows."""
        median = np.median(self.simulated, axis=1)
        yield (
            f"simulated regret, {self.runs} run{'s' * (self.runs > 1)}",
            texts({"mean": self.mean, "standard error": self.standard_error, "median": median}),
        )
        if not self.no_exact:
            all_rounds = texts({"of all rounds": self.bounded(self.WHOLE[0])})
            few = self.runs < FEW_RUNS
            off = ["-" if few or math.isnan(z) else f"{z:.2f}" for z in self.discrepancy.tolist()]
            later = texts({"of exploitation alone, from v on": self.bounded(self.LOWER)})
            yield (
                "exact regret, mean over the same runs",
                {**all_rounds, "simulated less exact, in standard errors": off, **later},
            )
        for head, names in (
            ("upper bounds on the regret of all rounds", self.named(self.WHOLE)),
            ("upper bounds on the regret of exploitation", self.named(None)),
            ("lower bound on the regret of exploitation where A = 0", self.named((self.LOWER,))),
        ):
            if names:
                yield head, texts({in_words(name): self.bounds[name] for name in names})
        rows = texts({"nuclear error, mean": self.error.mean(axis=1)})
        rows |= texts({"gamma^2 in these runs": self.gamma2})
        if self.bounds:
            rows |= texts({"epsilon of the proof, which the bounds use": self.epsilon.mean(axis=1)})
            within = [
                "-" if np.isnan(row).any() else f"{count}/{self.runs}"
                for row, count in zip(self.epsilon, self.within.tolist(), strict=True)
            ]
            rows["runs with a nuclear error of at most that"] = within
            for variant in ("corrected", "as_printed"):  # the appendix has the latter
                rows |= texts({f"gamma^2 of the proof, {words(variant)}": self.schedules[variant]})
        yield "the estimate, and the probes that it is from", rows

    @property
    def within(self) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
        """In how many runs the nuclear error is what the bounds take it to be, for each horizon."""
        return np.asarray((self.error <= self.epsilon).sum(axis=1), dtype=np.int64)

    def named(self, statements: Sequence[str] | None) -> list[BoundName]:
        """The bounds of some statements; of upper bounds on exploitation, if none are given."""
        if statements is not None:
            return [name for name in self.bounds if name[0] in statements]
        return [name for name in self.bounds if name[0] not in (*self.WHOLE, self.LOWER)]

    def remarks(self) -> Iterator[str]:
        """What follows: how regret grows, and which bounds hold."""
        yield f"simulated regret {growing(self.growth(self.simulated))}"
        if self.no_exact:
            yield f"no exact regret and no bounds: {self.no_exact}"
            return
        yield f"exact regret {growing(self.growth(self.exact))}"
        if self.no_bounds:
            yield f"no bounds: {self.no_bounds}"
            return
        yield from self.verdicts()

    def verdicts(self) -> Iterator[str]:
        """Which bounds hold for these runs, and which do not."""
        if not self.bounds:
            yield f"no bounds: probing takes all of the {self.horizons[-1]} rounds"
            return
        if good := self.grouped([n for n in self.upper if not self.beyond(n)]):
            yield f"at or above the exact regret at every T: {'; '.join(name for name, _ in good)}"
        for name, wrong in self.grouped([n for n in self.upper if self.beyond(n)]):
            part = "" if name.startswith(self.WHOLE) else " of exploitation"
            yield f"{name}: below the exact regret{part} at {self.listed(wrong)}{self.premise(wrong)}"
        for name, wrong in self.grouped([n for n in self.named((self.LOWER,)) if self.beyond(n)]):
            yield (
                f"{name}: above the exact regret of exploitation at {self.listed(wrong)}, "
                "which is no contradiction: it is for A = 0"
            )

    @property
    def upper(self) -> list[BoundName]:
        """All upper bounds."""
        return [*self.named(self.WHOLE), *self.named(None)]

    def grouped(self, names: Sequence[BoundName]) -> list[tuple[str, list[int]]]:
        """Bounds with the horizons at which they fail; the readings that fail at the same ones are together."""
        groups: dict[tuple[str, tuple[int, ...]], list[str]] = {}
        for statement, variant in names:
            wrong = tuple(self.beyond((statement, variant)))
            groups.setdefault((statement, wrong), []).append(words(variant))
        return [(f"{s} ({', '.join(found)})", list(wrong)) for (s, wrong), found in groups.items()]

    def premise(self, horizons: Sequence[int]) -> str:
        """Whether at some horizons the estimates are as good as the bounds take them to be."""
        kept = [T for T in horizons if self.within[self.horizons.index(T)] == self.runs]
        if kept:
            return f", although every nuclear error is at most epsilon at {self.listed(kept)}"
        return ", where not every nuclear error is at most epsilon"

    def listed(self, horizons: Sequence[int]) -> str:
        """Which horizons."""
        with_bounds = np.isfinite(self.epsilon).all(axis=1).sum()
        return "every T" if len(horizons) == with_bounds else f"T = {', '.join(map(str, horizons))}"

    # ---- files -----------------------------------------------------------------------------------------------------

    def save(self, folder: str | os.PathLike[str]) -> list[Path]:
        """Write ``SETTING_bounds.csv``, ``.png`` and ``.svg`` into a folder, made if need be."""
        place = Path(folder)
        place.mkdir(parents=True, exist_ok=True)
        table = place / f"{self.setting}_bounds.csv"
        with replacing(table) as temporary, temporary.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["quantity", "variant", "horizon", "run", "value"])
            writer.writerows(self.records())
        figure = bounds_figure(self)
        pictures = [table.with_suffix(suffix) for suffix in (".png", ".svg")]
        return [table, *(save_figure(figure, path) for path in pictures)]

    def records(self) -> Iterator[list[object]]:
        """All numbers, one a row, to 17 digits; those that do not exist are left out."""
        of_runs = {
            "simulated": self.simulated,
            "exact": self.exact,
            "exact exploitation": self.exploitation,
            "nuclear error": self.error,
            "epsilon": self.epsilon,
        }
        of_all = {
            ("gamma2", "played"): self.gamma2,
            **{("gamma2", variant): values for variant, values in self.schedules.items()},
            **self.bounds,
        }
        for index, T in enumerate(self.horizons):
            for quantity, samples in of_runs.items():
                for run, value in enumerate(samples[index].tolist()):
                    if not math.isnan(value):
                        yield [quantity, "", T, run, f"{value:.17g}"]
            for (quantity, variant), values in of_all.items():
                if not math.isnan(values[index]):
                    yield [quantity, variant, T, "", f"{values[index]:.17g}"]


def standard_error(samples: Array) -> Array:
    """Of the means of rows; NaN for a single column."""
    runs = samples.shape[1]
    if runs < 2:
        return np.full(len(samples), np.nan)
    # Runs that diverged beyond all numbers have no standard error either.
    with np.errstate(invalid="ignore", over="ignore"):
        return np.asarray(samples.std(axis=1, ddof=1) / math.sqrt(runs))


def texts(rows: Mapping[str, Array]) -> dict[str, list[str]]:
    """Numbers for a table, with a dash where there is none."""
    return {name: ["-" if math.isnan(value) else short(value) for value in row.tolist()] for name, row in rows.items()}


def words(variant: str) -> str:
    """A variant in words."""
    return variant.replace("_", " ")


def in_words(name: BoundName) -> str:
    """A bound's name for readers.

    Examples
    --------
    >>> in_words(("Theorem 1", "as_printed"))
    'Theorem 1, as printed'
    """
    return f"{name[0]}, {words(name[1])}"


def growing(growth: Growth) -> str:
    """As which power of T, with its interval, or that this cannot be seen."""
    if math.isnan(growth.exponent):
        return "is not seen to grow as a power of T"
    return f"grows as T^{growth}, by medians"
