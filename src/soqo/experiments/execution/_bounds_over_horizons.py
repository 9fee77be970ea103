"""Simulated regret of SCaLE, its exact expectation and all bounds, over several horizons, as numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np

from soqo._foundation.frozen_dataclasses import Value
from soqo.theory import Growth, growth_exponent
from soqo.typing import Array, IntArray

BoundName = tuple[str, Literal["corrected", "as_printed", "appendix"]]
"""A statement, such as "Theorem 1", and a variant of it, such as "as_printed"."""

_ROUND_OFF = 1e-9
"""Differences below this share of the regret are round-off."""


@dataclass(frozen=True, kw_only=True)
class BoundsTable(Value):
    """SCaLE's simulated regret, its exact expectation, and the bounds on it.

    Attributes
    ----------
    setting, title : str
        The setting's name and title.
    policy : str
        A description of the SCaLE that was played.
    probe_rule : str
        The rule for the variance of its probes.
    m : int
        Its number of exploration rounds.
    horizons : tuple of int, length k
        The horizons.
    simulated : Array, shape (k, runs)
        The regret of each run after the last round.
    exact : Array, shape (k, runs)
        The expectation of the regret over v, given the run's own A, probes and estimate; NaN if there is none.
    handover : str
        How exploitation starts: "direct" from the last probe, or "virtual" from the end of a virtual path.
    direct : Array, shape (k, runs)
        The same expectation, had exploitation started from the last probe, as the proofs assume.
    exploitation : Array, shape (k, runs)
        The part of it that Theorems 4 and 5 bound: the expected regret of LAI with the run's estimate over the rounds
        after exploration, for a player who starts at v.
    error : Array, shape (k, runs)
        The nuclear norm of A_hat - A; NaN if exploration takes the whole horizon.
    gamma2 : Array, shape (k,)
        The variance of the probes that were played.
    bounds : mapping of (statement, variant) to Array of shape (k,)
        Means over the runs' A; NaN where a bound does not apply. All are for the schedule of the proof.
    epsilon : Array, shape (k, runs)
        The error that the schedule of the proof guarantees for each run's A, and that the bounds assume.
    schedules : mapping of str to Array of shape (k,)
        The variance of the probes in the schedule of the proof, by variant.
    no_exact, no_bounds : str
        The reason why there is no exact regret, or why there are no bounds; empty if there are.

    See Also
    --------
    soqo.experiments.format_bounds : Format the table as text.
    soqo.experiments.save_bounds : Write the numbers and a picture to files.
    """

    WHOLE: ClassVar[tuple[str, ...]] = ("Theorem 1", "Theorem 3", "Corollary 1")
    """The statements about the regret of all rounds; the others are about the regret of exploitation."""

    LOWER: ClassVar[str] = "Theorem 2"
    """The lower bound. Its instance is A = 0, so it does not apply to runs with another A."""

    setting: str
    title: str
    policy: str
    probe_rule: str
    handover: str
    m: int
    horizons: tuple[int, ...]
    simulated: Array = field(repr=False)
    exact: Array = field(repr=False)
    direct: Array = field(repr=False)
    exploitation: Array = field(repr=False)
    error: Array = field(repr=False)
    gamma2: Array = field(repr=False)
    bounds: Mapping[BoundName, Array] = field(repr=False)
    epsilon: Array = field(repr=False)
    schedules: Mapping[str, Array] = field(repr=False)
    no_exact: str = ""
    no_bounds: str = ""

    @property
    def runs(self) -> int:
        """The number of runs."""
        return int(self.simulated.shape[1])

    @property
    def mean(self) -> Array:
        """The mean of the simulated regret for each horizon."""
        return np.asarray(self.simulated.mean(axis=1))

    @property
    def standard_error(self) -> Array:
        """The standard error of the mean of the simulated regret; NaN for a single run."""
        return _standard_error(self.simulated)

    @property
    def discrepancy(self) -> Array:
        """The mean of simulated minus exact regret in standard errors, which is of order 1 if both are right."""
        difference = self.simulated - self.exact
        # If v does not move, the difference is round-off.
        difference[np.abs(difference) < _ROUND_OFF * np.abs(self.exact)] = 0.0
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(difference.mean(axis=1) / _standard_error(difference))

    @property
    def accurate_runs(self) -> IntArray:
        """The number of runs whose nuclear error is at most epsilon, as the bounds assume, for each horizon."""
        return np.asarray((self.error <= self.epsilon).sum(axis=1))

    @property
    def whole_names(self) -> list[BoundName]:
        """The upper bounds on the regret of all rounds."""
        return [name for name in self.bounds if name[0] in self.WHOLE]

    @property
    def exploitation_names(self) -> list[BoundName]:
        """The upper bounds on the regret of exploitation."""
        return [name for name in self.bounds if name[0] not in (*self.WHOLE, self.LOWER)]

    @property
    def lower_names(self) -> list[BoundName]:
        """The lower bounds on the regret of exploitation."""
        return [name for name in self.bounds if name[0] == self.LOWER]

    def growth(self, regret: Array) -> Growth:
        """Return the growth of regret, of shape (k, runs), over the horizons that are longer than exploration.

        Parameters
        ----------
        regret : Array, shape (k, runs)
            The regret for each horizon, such as ``simulated`` or ``exact``.
        """
        lengths = np.array(self.horizons, dtype=float)
        used = (lengths > self.m) & np.isfinite(regret).all(axis=1)
        if used.sum() < 2:
            return Growth(math.nan, math.nan, math.nan)
        return growth_exponent(lengths[used], regret[used])

    def mean_exact(self, statement: str) -> Array:
        """Return the mean of the exact regret that a statement bounds: of all rounds, or of exploitation.

        Parameters
        ----------
        statement : str
            The statement, such as "Theorem 1".
        """
        return np.asarray((self.exact if statement in self.WHOLE else self.exploitation).mean(axis=1))

    def violations(self, name: BoundName) -> list[int]:
        """Return the horizons at which the exact regret is on the wrong side of a bound.

        Parameters
        ----------
        name : tuple of str
            A key of ``bounds``: the statement and its variant.
        """
        statement, _ = name
        bound, regret = self.bounds[name], self.mean_exact(statement)
        wrong = regret < bound if statement == self.LOWER else regret > bound
        return [T for T, is_wrong in zip(self.horizons, wrong.tolist(), strict=True) if is_wrong]

    def caused_by_handover(self, name: BoundName) -> list[int]:
        """Return the horizons at which a bound is violated only because exploitation starts from a virtual path.

        Parameters
        ----------
        name : tuple of str
            A key of ``bounds``: the statement and its variant.
        """
        if name[0] not in self.WHOLE:
            return []
        kept = dict(zip(self.horizons, (self.direct.mean(axis=1) <= self.bounds[name]).tolist(), strict=True))
        return [T for T in self.violations(name) if kept[T]]


def _standard_error(samples: Array) -> Array:
    """Return the standard error of the mean of each row; NaN for a single column."""
    runs = samples.shape[1]
    if runs < 2:
        return np.full(len(samples), np.nan)
    # Runs with infinite regret have no standard error.
    with np.errstate(invalid="ignore", over="ignore"):
        return np.asarray(samples.std(axis=1, ddof=1) / math.sqrt(runs))
