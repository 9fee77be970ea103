"""Beliefs about the readings: posteriors of A that differ in what they take for wrong or for a change, with weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from soqo._foundation.frozen_dataclasses import Value, evolve
from soqo._storage.registry import register
from soqo.estimators.bayes import MAX_DISTANCE, Reading, Terms, begins
from soqo.typing import Array, BoolArray, IntArray

ALARM = 0.99
"""The probability of a change from which on it is reported."""

TYPICAL_SIZE = 0.5
"""The typical size of an entry of u, in units of the root mean square before the first action: steps cover a part."""

FIRST_SHARE = 0.1
"""A typical displacement is one at which an A of the size of the switching weight explains this share of the first
reading, or a larger one."""

GROWN = 10.0
"""A typical size is replaced by one that is larger by this factor, while there are fewer readings than unknowns."""

MIN_DISTANCE = 1e-50
"""Until a displacement is longer than this nothing is learned: ratios of scale to noise would overflow."""


def _counted(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of beliefs of a version that counted neither bursts nor outliers."""
    return {**fields, "bursts": fields["rejected"], "outliers": 0.0 * fields["wide"]}


@register("GLIDE.mixture", version=2, migrations={1: _counted})
@dataclass(frozen=True)
class Beliefs(Value):
    """The beliefs of some runs, sorted by run; the best of each run comes first.

    Attributes
    ----------
    posterior : Bank or Factored
        What each belief knows of A.
    run : IntArray, shape (n,)
        The run of a belief.
    log_weight : Array, shape (n,)
        The logarithm of the weight, relative to the best belief of the run.
    age : Array, shape (n,)
        The number of readings, accepted or not.
    wrong, rejected, bursts : Array, shape (n,)
        The number of readings that were rejected: the last ones in a row, and in all; and in how many such rows.
    epoch : Array, shape (n,)
        The round in which A changed last; 0 for never.
    surprise : Array, shape (n,)
        The running mean of the squared errors, in deviations.
    gain : Array, shape (n,)
        The factor of the last wrong reading; NaN if it is not known.
    wide : Array, shape (n,)
        The number of readings with a large error.
    outliers : Array, shape (n,)
        The share of the readings outside of the band in which 95 % were expected, the old ones forgotten.
    """

    posterior: Any
    run: IntArray
    log_weight: Array
    age: Array
    wrong: Array
    rejected: Array
    bursts: Array
    epoch: Array
    surprise: Array
    gain: Array
    wide: Array
    outliers: Array

    @classmethod
    def start(cls, posterior: Any, runs: int) -> Beliefs:
        """Return one belief for each run."""
        zero = np.zeros(runs)
        return cls(posterior, np.arange(runs), *(zero,) * 6, zero + 1.0, zero + np.nan, zero, zero)

    def take(self, index: IntArray) -> Beliefs:
        """Return some of the beliefs."""
        if len(index) == len(self.run) and bool((index == np.arange(len(index))).all()):
            return self
        fields = {name: value[index] for name, value in self.__dict__.items() if name != "posterior"}
        return Beliefs(posterior=self.posterior.take(index), **fields)

    @staticmethod
    def join(parts: list[Beliefs]) -> Beliefs:
        """Return the beliefs of several."""
        if len(parts) == 1:
            return parts[0]
        names = [name for name in parts[0].__dict__ if name != "posterior"]
        fields = {name: np.concatenate([part.__dict__[name] for part in parts]) for name in names}
        kind = type(parts[0].posterior)
        return Beliefs(posterior=kind.join([part.posterior for part in parts]), **fields)

    def begun(self, terms: Terms, reading: Reading, before: Array) -> Beliefs:
        """Return the beliefs after a displacement has shown how large displacements are.

        The first one that is not zero may be far below those to come, so that a posterior which has few readings begins
        anew with a much larger one.

        Parameters
        ----------
        terms : Terms
            The terms of a reading.
        reading : Reading
            The readings of the runs.
        before : Array, shape (runs, d)
            The distance from v before the action.
        """
        young = self.age < terms.dim * (terms.dim + 1) // 2
        if not young.any():
            return self
        before = np.clip(before, -MAX_DISTANCE, MAX_DISTANCE)
        squares = np.maximum(np.square(before).mean(axis=1), np.square(reading.u).mean(axis=1))
        size = TYPICAL_SIZE * np.sqrt(squares)[self.run]
        heard = ((squares > MIN_DISTANCE**2) & ~np.isnan(reading.y))[self.run]
        begins_anew = young & heard & (size > GROWN * self.posterior.displacement)
        if not begins_anew.any():
            return self
        # The beliefs of a run differ in what they know, which is no longer anything.
        best = np.zeros(len(self.run), dtype=np.bool_)
        best[self.best] = True
        kept = np.flatnonzero(best | ~begins_anew)
        beliefs, index = self.take(kept), np.flatnonzero(begins_anew[kept])
        run = beliefs.run[index]
        # Close to v, what the switching weight explains of a reading is too little, and the rest is not all due to A.
        least = np.sqrt(FIRST_SHARE * np.abs(reading.y[run]) / (0.5 * terms.dim))
        displacement = size[kept][index]
        size = np.maximum(displacement, least)
        context = np.zeros((len(index), 0)) if reading.w is None else np.abs(reading.w[run])
        context = np.where(context > 0.0, context, 1.0)
        # The regressors of the base load are v, the time, and covariates, whose first step will show their size.
        regressors = np.zeros((len(index), terms.regressors))
        regressors[:, : terms.dim] = displacement[:, None]
        regressors[:, terms.dim : terms.dim + 1] = 1.0
        others = np.concatenate([context, regressors], axis=1)
        posterior = beliefs.posterior.begun(terms, index, size, others, displacement)
        return evolve(beliefs, posterior=posterior)

    @property
    def best(self) -> IntArray:
        """The best belief of each run, shape (runs,)."""
        return begins(self.run).nonzero()[0]

    @staticmethod
    def join_runs(parts: Sequence[Beliefs]) -> Beliefs:
        """Return the beliefs of the runs of several."""
        first = np.cumsum([0, *(len(part.best) for part in parts)])
        return Beliefs.join([evolve(part, run=part.run + n) for part, n in zip(parts, first, strict=False)])

    def take_runs(self, index: IntArray) -> Beliefs:
        """Return the beliefs of some of the runs, in the given order."""
        counts = np.bincount(self.run)[index]
        where = np.arange(counts.sum()) + np.repeat(self.best[index] - np.cumsum(counts) + counts, counts)
        return evolve(self.take(where), run=np.repeat(np.arange(len(index)), counts))

    def runs_key(self) -> Any:
        """Return what beliefs must have in common to be joined."""
        return type(self.posterior), self.posterior.vectors.shape[1], self.posterior.shift.shape[1:]

    def probability(self) -> Array:
        """Return the probability of each belief in its run."""
        best = self.best
        weight = np.exp(self.log_weight - self.log_weight[best][self.run])
        return np.asarray(weight / np.add.reduceat(weight, best)[self.run])

    def has_changed_since(self, rounds: Array) -> BoolArray:
        """Return the runs in which A has changed after some rounds, shape (runs,), almost certainly."""
        changed = self.epoch > rounds[self.run]
        if not changed.any():
            return changed[self.best]
        return np.asarray(np.add.reduceat(self.probability() * changed, self.best) > ALARM)
