"""One posterior of A with many dimensions: first a soft estimate, then a factor if A has one.

The soft estimate is the positive part of a dual posterior's mean, with the last one as a part of its prior. Beside it a
search looks for a factor. What it finds is on trial: it takes over if it predicts the next readings better.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError

from soqo._foundation.frozen_dataclasses import Value, evolve
from soqo._storage.registry import register, retire
from soqo.estimators.bayes import FIRST_SCALE, Terms
from soqo.estimators.factored._dual import Extras, Posterior, Readings, costs, positive_part
from soqo.estimators.factored._factor import SURPRISE, Factor, Fit
from soqo.estimators.factored._levels import LEAD, LEAST_SPREAD, Hypotheses, Levels
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


retire("DualPrior", "DualPosterior", "FactorFit", "FactorPosterior", "FactorTrial", "FactorSearch", "FactoredLevels")
"""The parts of the first version of a row, which are not read."""


@register("FactoredTrial")
@dataclass(frozen=True)
class Trial(Value):
    """A factor on trial, and its lead over the estimate that is played for, in nats."""

    factor: Factor
    lead: float = 0.0

    def judged(self, new: Readings, played: float) -> Trial:
        """Return the trial after a reading, which the estimate that is played for expected to be ``played``."""
        y, s2 = float(new.y[0]), self.factor.noise2
        own = self.factor.moments(new).mean
        gain = 0.5 * float(np.log((np.square(y - played) + s2) / (np.square(y - own) + s2)))
        return Trial(self.factor.learn(new), self.lead + gain)

    @property
    def won(self) -> bool:
        """Whether the factor takes over."""
        return self.lead > LEAD


def _from_first(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a row that keeps readings and estimate of the first version, and computes all else anew."""
    (n, d), h = fields["Z"].shape, fields["h"]
    t = np.arange(n) + (fields["seen"] - n + 1.0)
    row = Row.start(d, 0)
    kept = {name: fields[name] for name in ("size", "noise_cap", "seen", "values", "vectors")}
    readings = Readings(fields["Z"], fields["y"], h, np.sqrt(h), np.zeros((n, 0)), t)
    deviations = Terms(d).deviations(np.full(1, fields["size"]), np.zeros((1, 0)))[0]
    return {**row.__dict__, **kept, "readings": readings, "deviations": deviations}


@register("FactoredRow", version=2, migrations={1: _from_first})
@dataclass(frozen=True)
class Row(Value):
    """A posterior of A; see :class:`soqo.estimators.factored.Factored`.

    Attributes
    ----------
    size : float
        The typical size of an entry of u; 0 before it is known.
    deviations : Array, shape (1 + d + m,)
        The prior's deviations of base load, offset and regressors, for A of size one.
    noise_cap : float
        What bounds sigma.
    readings : Readings
        The readings that are kept.
    origin, z : Array, shape (m,)
        The first and the last known values of the regressors; NaN for none.
    seen : int
        The number of readings learned.
    levels : Levels
        What the prior is made of.
    values, vectors : Array, shapes (k,) and (d, k)
        The spectrum of the estimate.
    offset : Array, shape (d,)
        The offset b.
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
    deviations: Array
    noise_cap: float
    readings: Readings
    origin: Array
    z: Array
    seen: int
    levels: Levels
    values: Array
    vectors: Array
    offset: Array
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
    def start(cls, d: int, m: int) -> Row:
        """Return a row before the first reading, with m regressors."""
        unknown, none, levels = np.full(m, np.nan), Readings.none(d, m), Levels.start(d, Extras.none(m))
        values, eye = np.full(d, FIRST_SCALE), np.eye(d)
        return cls(0.0, np.zeros(1 + d + m), math.inf, none, unknown, unknown, 0, levels, values, eye, np.zeros(d))

    @property
    def restarted(self) -> Row:
        """A row that knows the typical sizes, and the last regressors."""
        new = Row.start(len(self.vectors), len(self.z))
        return evolve(
            new, size=self.size, deviations=self.deviations, noise_cap=self.noise_cap, z=self.z, origin=self.z
        )

    def around(self, M: Array, noise: float) -> Row:
        """Return a row that starts again around an estimate, with known noise."""
        d = len(M)
        values, vectors = np.linalg.eigh(M)
        scale = max(float(values.mean()), 1e-100)
        values = np.maximum(values, 0.0)
        levels = Levels.start(d, Extras.none(len(self.z)), noise, scale, 0.5 * M / scale + 0.5 * np.eye(d))
        return evolve(self.restarted, levels=levels, values=values, vectors=vectors, offset=self.offset)

    @property
    def sigma(self) -> float:
        """The deviation of the noise."""
        found = self.levels.sigma if self.factor is None else math.sqrt(self.factor.noise2)
        return min(found, self.noise_cap)

    @property
    def load(self) -> float:
        """The expected reading at x = v."""
        if not len(self.readings):
            return 0.0
        last = self.readings.last(1)
        here = evolve(last, Z=np.zeros_like(last.Z), X=last.X / last.h, h=np.ones(1), w=np.ones(1))
        if self.factor is not None:
            return float(self.factor.fit.expected(here)[0])
        return 0.0 if self.dual is None else float(self.dual.extras(here)[0])

    def estimate(self) -> Array:
        """Return the estimate of A."""
        return np.asarray((self.vectors * self.values) @ self.vectors.T)

    def hypotheses(self, terms: Terms) -> Hypotheses:
        """Return what readings may contain: the structures of which nothing walks but the base load."""
        found = []
        for number, one in terms.structures:
            if one.offset_step == one.regressor_step == 0.0:
                own = self.deviations * terms.exist(one)
                extras = Extras(float(own[0]), one.load_step, float(own[terms.load]), own[terms.walking :])
                found.append((number, math.log(one.probability), extras))
        return found

    def told(self, regressors: Array) -> Row:
        """Return the row that knows the regressors of a reading; those that are NaN are the last known ones."""
        z = np.where(np.isnan(regressors), self.z, regressors)
        return evolve(self, z=z, origin=np.where(np.isnan(self.origin), z, self.origin))

    def reading(self, u: Array, y: float, h: float, w: float) -> Readings:
        """Return a further reading."""
        X, one = h * np.nan_to_num(self.z - self.origin), np.ones(1)
        return Readings((w * u)[None], y * h * one, h * one, w * one, X[None], (self.seen + 1) * one)

    def predict(self, new: Readings) -> Prediction:
        """Return what is expected of a reading: the less is known of noise and scale, the longer are the tails."""
        if self.factor is not None:
            mean, variance, _ = self.factor.moments(new)
        elif self.dual is not None:
            mean, variance = self._forecast(self.dual, new)
        else:
            mean = float(costs(new.Z, self.levels.prior(None).M)[0])
            variance = mean * mean
        return Prediction.of(mean, variance + self.sigma**2, self.surplus, self.judged)

    def _forecast(self, dual: Posterior, new: Readings) -> tuple[float, float]:
        """Return mean and variance of a reading, given the readings since the last sweep if the base load walks."""
        if dual.prior.extras.step:
            new = self.readings.take(self.readings.t > dual.readings.t[-1]).followed_by(new)
        mean = 0.5 * np.square(new.Z @ self.vectors) @ self.values + dual.extras(new)
        covariance, known = dual.covariance(new), slice(0, len(new) - 1)
        error = new.y[known] - mean[known]
        noisy = covariance[known, known] + self.sigma**2 * np.eye(len(error))
        gain = np.linalg.solve(noisy, covariance[known, -1])
        return float(mean[-1] + gain @ error), max(float(covariance[-1, -1] - gain @ covariance[known, -1]), 0.0)

    def learn(self, new: Readings, expected: Prediction) -> Row:
        """Return the row after a reading, of which this was expected."""
        kept = self.readings
        unknowns = 0 if self.factor is None else self.factor.fit.L.size
        if len(kept) >= max(ROWS, ROWS_PER_UNKNOWN * unknowns):
            # Of the oldest readings, the one that says least about A.
            oldest = int(np.argmin(np.square(kept.Z[: len(kept) // 16]).sum(axis=1)))
            kept = kept.take(np.arange(len(kept)) != oldest)
        trial = None if self.trial is None else self.trial.judged(new, expected.mean)
        factor = None if self.factor is None else self.factor.learn(new)
        row = evolve(self, readings=kept.followed_by(new), seen=self.seen + 1, trial=trial, factor=factor)
        if self.dual is None and factor is None:
            return row
        surplus = expected.surplus(float(new.y[0]), self.surplus)
        return evolve(row, surplus=surplus, judged=self.judged + 1)

    def covariances(self, U: Array) -> tuple[Array, Array]:
        """Return var(1/2 u'Au) and Cov(A, 1/2 u'Au) for u of shape (m, d)."""
        return (self._doubtful() if self.factor is None else self.factor).covariances(U)

    def image(self, w: Array) -> Array:
        """Return the covariance of A w."""
        return (self._doubtful() if self.factor is None else self.factor).image(w)

    def reset(self) -> Row:
        """Return a row that keeps its readings and its estimate, and computes all else anew."""
        kept = {"values": self.values, "vectors": self.vectors, "readings": self.readings, "origin": self.origin}
        return evolve(self.restarted, seen=self.seen, **kept)

    def _doubtful(self) -> Posterior:
        """Return the dual posterior for a spread that is not small: readings in few directions say little about it."""
        prior = self.levels.prior(self.soft)
        prior = evolve(prior, c=max(prior.c, LEAST_SPREAD))
        try:
            return Posterior.of(prior, self.readings)
        except LinAlgError:  # numbers that overflow say nothing
            return Posterior.of(prior, self.readings.take(slice(0, 0)))

    def settled(self, terms: Terms) -> Row:
        """Return the row after the work that is due."""
        if not self.readings.Z.any():
            return self
        if self.factor is not None:
            return self._followed(self.factor, terms)
        row, n = self, self.seen
        if n >= row.due[0]:
            levels = row.levels.after(row.readings, row.soft, row.hypotheses(terms), row.noise_cap)
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
        offset = dual.offset(values, vectors)
        return evolve(self, soft=soft, dual=dual, values=values, vectors=vectors, offset=offset, due=due)

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
        return evolve(self, factor=factor, values=r * r, vectors=Q, offset=factor.fit.offset)

    def _followed(self, factor: Factor, terms: Terms) -> Row:
        """Return the row with the factor fitted again, if that is due."""
        n, readings, fit, due, levels = self.seen, self.readings, self.refit, self.due, self.levels
        if n >= due[0]:
            levels = levels.compared(readings, self.estimate(), self.hypotheses(terms), self.sigma, self.noise_cap)
            due = (n + max(1, n // 10), *due[1:])
        extras = levels.extras
        error = float(factor.fit.residuals(readings.last(1))[0])
        surprised = error**2 > SURPRISE**2 * factor.noise2 or extras != factor.fit.extras
        if fit is None and (n >= due[2] or surprised):
            fit = Fit.start(factor.fit.L, extras, factor.noise2, factor.fit.beta)
            due = (*due[:2], math.ceil((1.0 + GROWTH) * n))
        row = evolve(self, levels=levels, due=due)
        if fit is None:
            return row._playing(factor)
        work = WORK
        while not fit.done and work > 0.0:
            work -= fit.operations(len(readings))
            fit = fit.step(readings)
        if not fit.done:
            return evolve(row, refit=fit)._playing(factor)
        row, new = evolve(row, refit=None), Factor.of(fit, readings)
        if math.sqrt(new.noise2) <= SURPRISE * self.first_noise:
            return row._playing(new)
        row = evolve(row, factor=None, soft=row.estimate(), dual=None, surplus=1.0, judged=0, due=(n, n, n + n // 10))
        return evolve(row, levels=levels.after(readings, row.soft, row.hypotheses(terms), row.noise_cap))._swept()
