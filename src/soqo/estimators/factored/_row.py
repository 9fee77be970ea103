"""One posterior of A with many dimensions: first a soft estimate, then a factor if A has one.

The soft estimate is the positive part of a dual posterior's mean, with the last one as a part of its prior. Beside it a
search looks for a factor. What it finds is on trial: it takes over if it predicts the next readings better.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError

from soqo._foundation.frozen_dataclasses import Value, evolve
from soqo._storage.registry import register
from soqo.estimators.bayes import FIRST_SCALE
from soqo.estimators.factored._dual import Posterior, Readings, positive_part
from soqo.estimators.factored._factor import SURPRISE, Factor, Fit
from soqo.estimators.factored._levels import LEAD, Levels
from soqo.estimators.factored._prediction import Prediction
from soqo.estimators.factored._search import MAX_RANK, WORK, Search
from soqo.typing import Array

ROWS, ROWS_PER_UNKNOWN = 1024, 6
"""The budget of memory: the number of readings that are kept, or so many for each unknown of a factor."""

SWEEPS_PER_ROUND = 100
"""The budget of estimates: the soft one is renewed with one in a hundred more readings, levels with one in ten."""

PAUSE = 0.05
"""The budget of searches: one follows the last after this share of more readings."""

GROWTH = 0.15
"""The budget of fits: a factor is fitted again after this share of more readings."""

LEAST_SPREAD = 0.3
"""What is not known of A is judged with at least this spread c."""


@register("FactorTrial")
@dataclass(frozen=True)
class Trial(Value):
    """A factor on trial, and its lead over the estimate that is played for, in nats."""

    factor: Factor
    lead: float = 0.0

    def judged(self, readings: Readings, played: float) -> Trial:
        """Return the trial after the last reading, which the estimate that is played for expected to be ``played``."""
        z, y, h = readings.Z[-1], float(readings.y[-1]), float(readings.h[-1])
        s2 = self.factor.noise2
        own = self.factor.moments(z, h).mean
        gain = 0.5 * float(np.log((np.square(y - played) + s2) / (np.square(y - own) + s2)))
        return Trial(self.factor.learn(z, y, h), self.lead + gain)

    @property
    def won(self) -> bool:
        """Whether the factor takes over."""
        return self.lead > LEAD


@register("FactoredRow")
@dataclass(frozen=True)
class Row(Value):
    """A posterior of A; see :class:`soqo.estimators.factored.Factored`.

    Attributes
    ----------
    size : float
        The typical size of an entry of u; 0 before it is known.
    noise_cap : float
        What bounds sigma.
    Z, y, h : Array, shapes (m, d), (m,) and (m,)
        The readings that are kept, divided by the deviation of their noise in units of sigma.
    seen : int
        The number of readings learned.
    levels : Levels
        What the prior is made of.
    values, vectors : Array, shapes (k,) and (d, k)
        The spectrum of the estimate.
    soft, dual : Array of shape (d, d) and Posterior, or None
        The soft estimate, and the posterior of which it is the positive part.
    search, trial : Search and Trial, or None
        A search for a factor in progress, and a factor on trial.
    factor, refit, first_noise : Factor and Fit, or None, and float
        The factor that is played for, the fit in progress, and the noise around it at first.
    surplus, judged : float and int
        The mean square of the last errors, in units of the variance that was expected of them, and their number.
    due : tuple of int
        The numbers of readings at which levels, soft estimate, and search or fit are due.
    """

    size: float
    noise_cap: float
    Z: Array
    y: Array
    h: Array
    seen: int
    levels: Levels
    values: Array
    vectors: Array
    soft: Array | None = None
    dual: Posterior | None = None
    search: Search | None = None
    trial: Trial | None = None
    factor: Factor | None = None
    refit: Fit | None = None
    first_noise: float = 0.0
    surplus: float = 1.0
    judged: int = 0
    due: tuple[int, int, int] = (0, 0, 0)

    @classmethod
    def start(cls, d: int, size: float = 0.0) -> Row:
        """Return a row before the first reading."""
        none, eye = np.zeros(0), np.eye(d)
        return cls(size, math.inf, np.zeros((0, d)), none, none, 0, Levels.start(d), np.full(d, FIRST_SCALE), eye)

    def around(self, M: Array, noise: float) -> Row:
        """Return a row that starts again around an estimate, with known noise."""
        d = len(M)
        values, vectors = np.linalg.eigh(M)
        scale = max(float(values.mean()), 1e-100)
        values = np.maximum(values, 0.0)
        levels = Levels.start(d, noise, scale, 0.5 * M / scale + 0.5 * np.eye(d))
        return evolve(Row.start(d, self.size), noise_cap=self.noise_cap, levels=levels, values=values, vectors=vectors)

    @property
    def readings(self) -> Readings:
        """The readings that are kept."""
        return Readings(self.Z, self.y, self.h)

    @property
    def sigma(self) -> float:
        """The deviation of the noise."""
        found = self.levels.sigma if self.factor is None else math.sqrt(self.factor.noise2)
        return min(found, self.noise_cap)

    @property
    def load(self) -> float:
        """The base load."""
        if self.factor is not None:
            return self.factor.fit.load
        return 0.0 if self.dual is None else self.dual.load()

    def estimate(self) -> Array:
        """Return the estimate of A."""
        return np.asarray((self.vectors * self.values) @ self.vectors.T)

    def predict(self, z: Array, h: float) -> Prediction:
        """Return what is expected of a reading: the less is known of noise and scale, the longer are the tails."""
        if self.factor is not None:
            mean, variance, _, _ = self.factor.moments(z, h)
        elif self.dual is not None:
            mean = 0.5 * float(self.values @ np.square(self.vectors.T @ z)) + h * self.load
            variance = float(self.dual.predict(z[None], np.array([h]))[1][0])
        else:
            mean = 0.5 * float(z @ self.levels.prior(None).M @ z)
            variance = mean * mean
        return Prediction.of(mean, variance + self.sigma**2, self.surplus, self.judged)

    def learn(self, z: Array, y: float, h: float, expected: Prediction) -> Row:
        """Return the row after a reading, of which this was expected."""
        kept = self.readings
        unknowns = 0 if self.factor is None else self.factor.fit.L.size
        if len(kept.y) >= max(ROWS, ROWS_PER_UNKNOWN * unknowns):
            # Of the oldest readings, the one that says least about A.
            oldest = int(np.argmin(np.square(kept.Z[: len(kept.y) // 16]).sum(axis=1)))
            kept = Readings(*(np.delete(part, oldest, axis=0) for part in kept))
        Z, Y, H = np.vstack([kept.Z, z]), np.append(kept.y, y), np.append(kept.h, h)
        trial = None if self.trial is None else self.trial.judged(Readings(Z, Y, H), expected.mean)
        factor = None if self.factor is None else self.factor.learn(z, y, h)
        row = evolve(self, Z=Z, y=Y, h=H, seen=self.seen + 1, trial=trial, factor=factor)
        if self.dual is None and factor is None:
            return row
        return evolve(row, surplus=expected.surplus(y, self.surplus), judged=self.judged + 1)

    def covariances(self, U: Array) -> tuple[Array, Array]:
        """Return var(1/2 u'Au) and Cov(A, 1/2 u'Au) for u of shape (m, d)."""
        return (self._doubtful() if self.factor is None else self.factor).covariances(U)

    def image(self, w: Array) -> Array:
        """Return the covariance of A w."""
        return (self._doubtful() if self.factor is None else self.factor).image(w)

    def reset(self) -> Row:
        """Return a row that keeps its readings and its estimate, and computes all else anew."""
        first = Row.start(len(self.vectors), self.size)
        kept = {"values": self.values, "vectors": self.vectors, "Z": self.Z, "y": self.y, "h": self.h}
        return evolve(first, noise_cap=self.noise_cap, seen=self.seen, **kept)

    def _doubtful(self) -> Posterior:
        """Return the dual posterior for a spread that is not small: readings in few directions say little about it."""
        prior = self.levels.prior(self.soft)
        prior = evolve(prior, c=max(prior.c, LEAST_SPREAD))
        try:
            return Posterior.of(prior, self.readings)
        except LinAlgError:  # numbers that overflow say nothing
            return Posterior.of(prior, self.readings.first(0))

    def settled(self) -> Row:
        """Return the row after the work that is due."""
        if not self.Z.any():
            return self
        if self.factor is not None:
            return self._followed(self.factor)
        row, n = self, self.seen
        if n >= row.due[0]:
            levels = row.levels.after(row.readings, row.soft, row.size, row.noise_cap)
            row = evolve(row, levels=levels, due=(n + max(1, n // 10), *row.due[1:]))
        if n >= row.due[1]:
            row = row._swept()
        row = row._searched()
        trial = row.trial
        if trial is None or not trial.won:
            return row
        row = evolve(row, search=None, trial=None, due=(n, n, n))
        first_noise = max(row.sigma, math.sqrt(trial.factor.noise2))
        return evolve(row, first_noise=first_noise, surplus=1.0, judged=0)._playing(trial.factor)

    def _swept(self) -> Row:
        """Return the row with a new soft estimate."""
        dual = Posterior.of(self.levels.prior(self.soft), self.readings)
        values, vectors, soft = positive_part(dual.mean())
        due = (self.due[0], self.seen + max(1, self.seen // SWEEPS_PER_ROUND), self.due[2])
        return evolve(self, soft=soft, dual=dual, values=values, vectors=vectors, due=due)

    def _searched(self) -> Row:
        """Return the row with more of a search, which ends with a trial."""
        d, n, search = len(self.vectors), self.seen, self.search
        few = n < d * (d + 1) // 2
        if search is None:
            rank = self.values.sum() ** 2 / np.square(self.values).sum()
            if n < max(0.5 * d * rank, self.due[2]) or rank > MAX_RANK * d:
                return self
            search = Search.start(self.readings, None if few else self.soft)
        search = search.advanced(self.readings, self.levels, n)
        if not search.done:
            return evolve(self, search=search)
        trial = self.trial if search.best is None else Trial(Factor.of(search.best, self.readings))
        pause = PAUSE if few else 4.0 * PAUSE
        return evolve(self, search=None, trial=trial, due=(*self.due[:2], n + max(4, int(pause * n))))

    def _playing(self, factor: Factor) -> Row:
        """Return the row that plays for a factor."""
        Q, r, _ = np.linalg.svd(factor.fit.L, full_matrices=False)
        return evolve(self, factor=factor, values=r * r, vectors=Q)

    def _followed(self, factor: Factor) -> Row:
        """Return the row with the factor fitted again, if that is due."""
        n, readings, fit, due = self.seen, self.readings, self.refit, self.due
        error = float(factor.fit.residuals(readings.last(1))[0])
        if fit is None and (n >= due[2] or error**2 > SURPRISE**2 * factor.noise2):
            fit = Fit.start(factor.fit.L, factor.fit.load, self.levels.tau, factor.noise2)
            due = (*due[:2], math.ceil((1.0 + GROWTH) * n))
        if fit is None:
            return self._playing(factor)
        work = WORK
        while not fit.done and work > 0.0:
            work -= fit.operations(len(readings.y))
            fit = fit.step(readings)
        if not fit.done:
            return evolve(self, refit=fit, due=due)._playing(factor)
        row, new = evolve(self, refit=None, due=due), Factor.of(fit, readings)
        if math.sqrt(new.noise2) <= SURPRISE * self.first_noise:
            return row._playing(new)
        row = evolve(row, factor=None, soft=row.estimate(), dual=None, surplus=1.0, judged=0, due=(n, n, n + n // 10))
        levels = row.levels.after(readings, row.soft, row.size, row.noise_cap)
        return evolve(row, levels=levels)._swept()
